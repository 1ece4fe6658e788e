#!/usr/bin/env bash
# structlog 26.1.0: its import loads rich where that is installed, and asyncio everywhere, also for JSON lines alone.
. "$(dirname "$0")/shared.sh"
python structlog==26.1.0

import() {
    python3 - <<'END'
import sys
import structlog

structlog.wrap_logger(structlog.PrintLogger(), processors=[structlog.processors.JSONRenderer()]).info("started")
print("imported:", *(name for name in ("rich", "asyncio") if name in sys.modules))
END
}

expect import <<'END'
{"event": "started"}
imported: asyncio
END

python rich==15.0.0 markdown-it-py==4.3.0 mdurl==0.1.2 pygments==2.21.0

expect import <<'END'
{"event": "started"}
imported: rich asyncio
END
