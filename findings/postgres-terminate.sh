#!/usr/bin/env bash
# PostgreSQL 15.18: the time that pg_terminate_backend waits counts as the statement's own.
#
# If its second argument is as long as statement_timeout, the answer is the error of a cancelled statement instead of
# "false", and the caller doesn't learn that the other session is still there.
. "$(dirname "$0")/shared.sh"
[ "$(id -u)" = 0 ] || not_tried "starting PostgreSQL as another user needs root"
debian postgresql-15=15.18-0+deb12u1 postgresql-client-15=15.18-0+deb12u1 libpq5=15.18-0+deb12u1
start_postgres

terminate() {
    psql=("$FOLDER/debian/usr/lib/postgresql/15/bin/psql" -h "$FOLDER/socket" -U postgres -qAt)
    start "${psql[@]}" -c 'SELECT pg_sleep(60)'
    until_true is_busy
    pid=$(busy)
    kill -STOP "$pid" # a session that can't end
    for patience in 500 2000; do
        terminate="SELECT pg_terminate_backend($pid, $patience)"
        answer=$("${psql[@]}" -c 'SET statement_timeout = 1000' -c "$terminate" 2>&1) || :
        echo "statement_timeout 1000, waits $patience: ${answer/$pid/N}"
    done
    kill -CONT "$pid"
}
busy() { "${psql[@]}" -c "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'"; }
is_busy() { [ -n "$(busy)" ]; }

expect terminate <<'END'
statement_timeout 1000, waits 500: WARNING:  backend with PID N did not terminate within 500 milliseconds
f
statement_timeout 1000, waits 2000: ERROR:  canceling statement due to statement timeout
END
