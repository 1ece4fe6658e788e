"""structlog, without rich: structlog takes it for traces that filedrop doesn't show.

That would be a tenth of a start, and 5 MB. Commands that print tables import rich themselves.
"""

import sys

__all__ = ["structlog"]

# To `import`, a module that is None isn't there (docs.python.org/3/reference/import.html).
_modules: dict[str, object] = sys.modules  # type: ignore[assignment] # None is allowed
_modules.setdefault("rich", None)
import structlog  # noqa: E402 - after that

if _modules["rich"] is None:
    del _modules["rich"]
