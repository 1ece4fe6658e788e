#!/usr/bin/env bash
# tenacity 9.2.1: wait_exponential_jitter has no jitter left once the pauses have grown to `max`.
#
# The jitter is added before the bound. So all programs that lost a server together come back at the same moments
# just when the outage is long, which is what a jitter is for.
. "$(dirname "$0")/shared.sh"
python tenacity==9.2.1

pauses() {
    python3 - <<'END'
import tenacity

def different(attempt, **options):
    wait = tenacity.wait_exponential_jitter(initial=1, jitter=5, **options)
    state = tenacity.RetryCallState(None, None, (), {})
    state.attempt_number = attempt
    return len({wait(state) for _ in range(100)})

for attempt in (2, 20):
    print(f"attempt {attempt}: {different(attempt, max=60)} different pauses of 100 with max=60")
END
}

expect pauses <<'END'
attempt 2: 100 different pauses of 100 with max=60
attempt 20: 1 different pauses of 100 with max=60
END
