#!/usr/bin/env bash
# structlog 26.1.0: once rich is installed, ConsoleRenderer prints the local variables of each traceback.
#
# So a log for the console shows passwords as soon as another package brings rich. `plain_traceback` has none.
. "$(dirname "$0")/shared.sh"
python structlog==26.1.0

log() {
    python3 - "$1" <<'END'
import io, sys
import structlog
from structlog.dev import ConsoleRenderer, plain_traceback

def log_in(password):
    raise ConnectionError("refused")

for name, options in (("default", {}), ("plain_traceback", {"exception_formatter": plain_traceback})):
    output = io.StringIO()
    log = structlog.wrap_logger(structlog.PrintLogger(output), processors=[ConsoleRenderer(colors=False, **options)])
    try:
        log_in("".join(["se", "cret"]))
    except ConnectionError:
        log.exception("failed")
    print(f"{sys.argv[1]}: {name}: {'shows' if 'secret' in output.getvalue() else 'hides'} the variable")
END
}

expect log "without rich" <<'END'
without rich: default: hides the variable
without rich: plain_traceback: hides the variable
END

python rich==15.0.0 markdown-it-py==4.3.0 mdurl==0.1.2 pygments==2.21.0

expect log "with rich" <<'END'
with rich: default: shows the variable
with rich: plain_traceback: hides the variable
END
