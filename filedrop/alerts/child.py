"""The process that tells Apprise's addresses: an object on stdin, on stdout a line for each address that has it.

Of its own, because Apprise costs a second and 13 MB to import, and hundreds of modules speak to strangers in it.
"""

from __future__ import annotations

import json
import sys

NOT_INSTALLED = 3  # the exit status where Apprise isn't there


def main() -> None:
    """Tell them. Exits with NOT_INSTALLED where Apprise isn't there."""
    asked = json.load(sys.stdin)
    answer, sys.stdout = sys.stdout, sys.stderr  # whatever a module prints isn't the answer
    try:
        import apprise  # noqa: PLC0415 - its absence is an answer
    except ModuleNotFoundError:
        sys.exit(NOT_INSTALLED)
    for name, url in asked["urls"].items():
        service = apprise.Apprise()
        if service.add(url) and service.notify(body=asked["body"], title=asked["title"], body_format="text"):
            answer.write(f"{name}\n")
            answer.flush()  # at once: the next address may hang


if __name__ == "__main__":
    main()
