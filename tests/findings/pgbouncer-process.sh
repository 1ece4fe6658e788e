#!/usr/bin/env bash
# PgBouncer 1.18.0: the process number that a client gets at its login is made up, in session mode, too.
#
# It isn't that of the PostgreSQL process behind, so ending "one's own" session by it, or looking it up in
# pg_stat_activity, meets nobody, or a stranger. SELECT pg_backend_pid() gives the right one.
. "$(dirname "$0")/shared.sh"
[ "$(id -u)" = 0 ] || not_tried "starting PostgreSQL as another user needs root"
debian postgresql-15=15.18-0+deb12u1 postgresql-client-15=15.18-0+deb12u1 libpq5=15.18-0+deb12u1 \
    pgbouncer=1.18.0-1+deb12u1 libc-ares2=1.18.1-3 libevent-2.1-7=2.1.12-stable-8+deb12u1
python psycopg==3.3.9 psycopg-binary==3.3.9 typing_extensions==4.16.0
start_postgres
mkdir pooler
chown nobody pooler
cat >pooler.ini <<END
[databases]
postgres = host=$FOLDER/socket user=postgres
[pgbouncer]
pool_mode = session
auth_type = any
listen_addr =
unix_socket_dir = $FOLDER/pooler
logfile = $FOLDER/pooler/log
END
start setpriv --reuid nobody --clear-groups pgbouncer pooler.ini
until_true test -S pooler/.s.PGSQL.6432

compare() {
    python3 - "$FOLDER" <<'END'
import sys
import psycopg

for name, port in (("socket", 5432), ("pooler", 6432)):
    with psycopg.connect(f"host={sys.argv[1]}/{name} port={port} user=postgres dbname=postgres") as session:
        told = session.info.backend_pid
        (real,) = session.execute("SELECT pg_backend_pid()").fetchone()
        known = session.execute("SELECT count(*) FROM pg_stat_activity WHERE pid = %s", [told]).fetchone()[0]
    print(f"{name}: the same number {told == real}, sessions of the number told at the login: {known}")
END
}

expect compare <<'END'
socket: the same number True, sessions of the number told at the login: 1
pooler: the same number False, sessions of the number told at the login: 0
END
