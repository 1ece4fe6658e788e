#!/usr/bin/env bash
# tenacity 9.2.1: an event that cuts the pause short doesn't stop the retries: one more attempt is made.
#
# It decides whether to stop before the pause, and not again after it. It also works out a pause after the last
# attempt, so a `wait` with one value for each pause lacks one.
. "$(dirname "$0")/shared.sh"
python tenacity==9.2.1

retry() {
    python3 - <<'END'
import threading
import tenacity

stopped, attempts, waits = threading.Event(), [], []

def attempt():
    attempts.append(stopped.is_set())
    raise ConnectionError

def pause(seconds):
    stopped.set()  # filed while it waits
    stopped.wait(seconds)

for stop in (tenacity.stop_when_event_set(stopped), tenacity.stop_after_attempt(2)):
    try:
        tenacity.Retrying(
            stop=stop, sleep=pause, wait=lambda state: waits.append(state.attempt_number) or 0, reraise=True
        )(attempt)
    except ConnectionError:
        print("event set before each attempt:", attempts, "- pauses worked out:", len(waits))
    stopped.clear(), attempts.clear(), waits.clear()
END
}

expect retry <<'END'
event set before each attempt: [False, True] - pauses worked out: 2
event set before each attempt: [False, True] - pauses worked out: 2
END
