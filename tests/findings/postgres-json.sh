#!/usr/bin/env bash
# PostgreSQL 15.18: the type json takes text that can't be read from it: \u0000, and half of a surrogate pair.
#
# Python's json.dumps writes both. The row is stored, and each later query that asks for the value fails. jsonb refuses
# the text at once.
. "$(dirname "$0")/shared.sh"
[ "$(id -u)" = 0 ] || not_tried "starting PostgreSQL as another user needs root"
debian postgresql-15=15.18-0+deb12u1 postgresql-client-15=15.18-0+deb12u1 libpq5=15.18-0+deb12u1
start_postgres

store() {
    psql=("$FOLDER/debian/usr/lib/postgresql/15/bin/psql" -h "$FOLDER/socket" -U postgres -qAt)
    "${psql[@]}" -c 'CREATE TABLE sidecars (content json)'
    for text in 'name \u0000' 'name \ud83d'; do
        "${psql[@]}" -c "INSERT INTO sidecars VALUES ('{\"name\": \"$text\"}') RETURNING 'stored'"
        "${psql[@]}" -c "SELECT content ->> 'name' FROM sidecars" 2>&1 | grep -E '^(ERROR|DETAIL)' || :
        "${psql[@]}" -c "SELECT '{\"name\": \"$text\"}'::jsonb" 2>&1 | grep -E '^ERROR' | sed 's/^/jsonb: /'
        "${psql[@]}" -c 'TRUNCATE sidecars'
    done
}

expect store <<'END'
stored
ERROR:  unsupported Unicode escape sequence
DETAIL:  \u0000 cannot be converted to text.
jsonb: ERROR:  unsupported Unicode escape sequence
stored
ERROR:  invalid input syntax for type json
DETAIL:  Unicode low surrogate must follow a high surrogate.
jsonb: ERROR:  invalid input syntax for type json
END
