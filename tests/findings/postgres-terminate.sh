#!/usr/bin/env bash
# PostgreSQL 15.18: the time that pg_terminate_backend waits counts as the statement's own.
#
# If its second argument is as long as statement_timeout, the answer is the error of a cancelled statement instead of
# "false", and the caller doesn't learn that the other session is still there. In a query over several sessions, it
# waits for one after the other, and the sum counts.
. "$(dirname "$0")/shared.sh"
[ "$(id -u)" = 0 ] || not_tried "starting PostgreSQL as another user needs root"
debian postgresql-15=15.18-0+deb12u1 postgresql-client-15=15.18-0+deb12u1 libpq5=15.18-0+deb12u1
start_postgres

terminate() {
    psql=("$FOLDER/debian/usr/lib/postgresql/15/bin/psql" -h "$FOLDER/socket" -U postgres -qAt)
    for _ in 1 2; do start "${psql[@]}" -c 'SELECT pg_sleep(60)'; done
    until_true are_busy
    mapfile -t pids < <(busy)
    kill -STOP "${pids[@]}" # sessions that can't end
    one="SELECT pg_terminate_backend(${pids[0]}, "
    both="SELECT bool_and(pg_terminate_backend(pid, 700)) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    for ending in "$one 500)" "$one 2000)" "$both"; do
        "${psql[@]}" -c 'SET statement_timeout = 1000' -c "$ending" 2>&1 |
            sed -E 's/PID [0-9]+/PID N/; s/^f$/false/' || :
    done
    kill -CONT "${pids[@]}"
}
busy() { "${psql[@]}" -c "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'"; }
are_busy() { [ "$(busy | wc -l)" = 2 ]; }

expect terminate <<'END'
WARNING:  backend with PID N did not terminate within 500 milliseconds
false
ERROR:  canceling statement due to statement timeout
WARNING:  backend with PID N did not terminate within 700 milliseconds
ERROR:  canceling statement due to statement timeout
END
