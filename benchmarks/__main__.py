"""The one command: `python -m benchmarks [CASE...] [--json FILE]`, `compare COMMIT [PART...]`, `--list`."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import cases  # noqa: F401 - importing it registers them
from benchmarks.frame import CASES, ONLY_NAMED, ROUNDS, Bench, Figure, Skipped
from benchmarks.machine import describe

WIDTH = 170  # letters, where it is no terminal's business
MARKS = {True: "met", False: "MISSED", None: ""}


def main() -> int:
    """Run cases and show what they measured. 1: one of them couldn't be run to its end."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started and written is to go with us
    options = _options()
    if options.list:
        for name, case in CASES.items():
            print(f"{name:<18} {(case.__doc__ or '').splitlines()[0]}")  # noqa: T201 - a command prints
        return 0
    report: dict[str, Any] = {"at": datetime.now().astimezone().isoformat(timespec="seconds"), "figures": []}
    report |= {"machine": describe(options.folder), "tiny": options.tiny, "not_run": {}}
    table = Table("case", "what", "filedrop", "yardstick", "ratio", "must be", "", "others", title=_title(report))
    wide = None if sys.stdout.isatty() else WIDTH
    console, progress = Console(width=wide), Console(stderr=True, width=wide)
    # Kept to the end: ext4 looks for a long time at inodes that were freed in the last minutes before it takes one.
    with ExitStack() as folders:
        for name in options.cases or [name for name in CASES if name not in ONLY_NAMED]:
            begun = time.monotonic()
            progress.print(f"{name} ...")
            folder = folders.enter_context(TemporaryDirectory(prefix="filedrop-bench-", dir=options.folder))
            bench = Bench(
                Path(folder),
                rounds=options.rounds,
                tiny=options.tiny,
                hours=options.hours,
                picture=options.picture,
                commit=options.commit,
                parts=options.parts,
            )
            try:
                for figure in CASES[name](bench):
                    row = _row(figure, tiny=options.tiny)
                    table.add_row(name, *row)
                    progress.print("  ", *row, markup=False)
                    report["figures"].append({"case": name, **figure.as_json()})
                    _write(options.json, report)
            except Skipped as missing:
                report["not_run"][name] = f"skipped: {missing}"
            except Exception as error:  # noqa: BLE001 - the other cases are no worse for it
                report["not_run"][name] = f"{type(error).__name__}: {error}"
            progress.print(f"  {report['not_run'].get(name, '')} {time.monotonic() - begun:.0f} s", markup=False)
    _write(options.json, report)
    console.print(table)
    for name, why in report["not_run"].items():
        console.print(f"NOT RUN: {name}: {why}", style="bold red", markup=False)
    return 1 if any(not why.startswith("skipped") for why in report["not_run"].values()) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="What filedrop costs.")
    parser.add_argument(
        "cases",
        nargs="*",
        metavar="CASE",
        help="which, by default all but soak and compare",
    )
    parser.add_argument("--list", action="store_true", help="show the cases' names")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure, and those of each round")
    parser.add_argument("--folder", type=Path, default=Path(gettempdir()), help="on the disk to be measured")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often; the figure is the median")
    parser.add_argument("--tiny", action="store_true", help="only see whether all runs: figures without a meaning")
    parser.add_argument("--hours", type=float, metavar="N", help="how long soak runs; 2 by default")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="where soak draws; benchmarks/soak.svg by default")
    options = parser.parse_args()
    options.commit, options.parts = "", ()
    if options.cases[:1] == ["compare"] and len(options.cases) > 1:
        options.commit, *options.parts = options.cases[1:]
        del options.cases[1:]
    unknown = set(options.cases) - CASES.keys()
    if unknown:
        parser.error(f"there is no case {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    return options


def _title(report: dict[str, Any]) -> str:
    machine = report["machine"]
    return (
        f"{machine['cpu']}, {machine['cores']} cores; Linux {machine['kernel']}; {machine['file_system']} "
        f"({machine['folder']}); Python {machine['python']}; {report['at']}"
    )


def _row(figure: Figure, *, tiny: bool) -> tuple[str, ...]:
    yardstick, must = figure.yardstick, figure.must
    return (
        figure.name + (f" ({figure.note})" if figure.note else ""),
        f"{_number(figure.samples.median)} {figure.unit}",
        f"{_number(yardstick.median)} {figure.unit} ({figure.beside})" if yardstick else "",
        f"{figure.ratio:.2f}" if figure.ratio is not None else "",
        f"{must}{'' if must.of == 'ratio' else f' {figure.unit}'}" if must else "",
        "" if tiny else MARKS[figure.met],
        f"{max(figure.samples.others):.2f}",
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _write(file: Path | None, report: dict[str, Any]) -> None:
    if file:
        file.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
