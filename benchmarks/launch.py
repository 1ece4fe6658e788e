"""Runs a command and writes what it cost, as JSON: `launch.py FILE COMMAND...`.

A process of its own and with few imports, because a child's peak of memory begins with that of its parent (getrusage(2)
counts what was there before exec).
"""

import json
import os
import sys
import time

target, *command = sys.argv[1:]
begun = time.perf_counter()
pid = os.posix_spawnp(command[0], command, os.environ)
_, status, usage = os.wait4(pid, 0)
with open(target, "w", encoding="utf-8") as file:  # noqa: PTH123 - pathlib would be an import more
    json.dump(
        {
            "seconds": time.perf_counter() - begun,
            "cpu": usage.ru_utime + usage.ru_stime,
            "memory": usage.ru_maxrss * 1024 / 1e6,
            "waits": usage.ru_nvcsw,
        },
        file,
    )
sys.exit(os.waitstatus_to_exitcode(status))
