"""The command `filedrop`, and `python -m filedrop`, which is the same."""

import os
import sys


def main() -> None:
    """Run the command line, and exit."""
    _forget_current_folder()
    from filedrop.cli import main as run  # noqa: PLC0415 - from then on

    run()


def _forget_current_folder() -> None:
    """Have Python import nothing from the current folder, which may be a share that strangers write to.

    Python puts it first, for -m and for an empty entry of PYTHONPATH.
    """
    ours = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120 - pathlib would be imported from there
    try:
        here = os.path.realpath(os.getcwd())  # noqa: PTH109
    except OSError:  # it was removed
        return
    if here not in map(os.path.realpath, (ours, os.path.dirname(os.__file__))):  # noqa: PTH120
        sys.path[:] = [path for path in sys.path if os.path.realpath(path) != here]


if __name__ == "__main__":
    main()
