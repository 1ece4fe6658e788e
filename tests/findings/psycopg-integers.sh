#!/usr/bin/env bash
# psycopg 3.3.9: one statement is prepared once for each size of its integers.
#
# A Python int is sent as smallint, integer, bigint or numeric, whichever is large enough, and a statement is one with
# its types. With Int8Dumper for int, there is one.
. "$(dirname "$0")/shared.sh"
[ "$(id -u)" = 0 ] || not_tried "starting PostgreSQL as another user needs root"
debian postgresql-15=15.18-0+deb12u1 libpq5=15.18-0+deb12u1
python psycopg==3.3.9 psycopg-binary==3.3.9 typing_extensions==4.16.0
start_postgres

prepare() {
    python3 - "$FOLDER/socket" <<'END'
import sys
import psycopg
from psycopg.types.numeric import Int8Dumper

for dumper in (None, Int8Dumper):
    with psycopg.connect(host=sys.argv[1], user="postgres", autocommit=True, prepare_threshold=0) as session:
        if dumper:
            session.adapters.register_dumper(int, dumper)
        for number in (1, 40_000, 3_000_000_000):
            session.execute("SELECT 1 WHERE 0 < %s", [number])
        types = session.execute(
            "SELECT parameter_types::text FROM pg_prepared_statements WHERE statement ~ '^SELECT 1 '"
        )
        print(f"{dumper and dumper.__name__}: {sorted(name for name, in types)}")
END
}

expect prepare <<'END'
None: ['{bigint}', '{integer}', '{smallint}']
Int8Dumper: ['{bigint}']
END
