"""The manual as man pages: `man.py VERSION FOLDER` writes FOLDER/man1/filedrop.1 and FOLDER/man5/filedrop.5."""

from __future__ import annotations

import re
import sys
from pathlib import Path

PROJECT = Path(__file__).parents[2]
REFERENCE = PROJECT / "docs" / "reference.md"
PAGES = {  # name and section: its chapters of the reference, what NAME says, and where else to look
    ("filedrop", 1): (
        ("Commands", "Exit statuses"),
        "sends and receives business documents between folders and a PEPPOL access point",
        5,
    ),
    ("filedrop", 5): (
        ("The configuration file", "Settings of a company", "All settings"),
        "the configuration of filedrop",
        1,
    ),
}


def roff(markdown: str) -> list[str]:
    """The lines of a page, without its title, as man(7) wants them."""
    lines: list[str] = []
    verbatim = False
    for line in markdown.splitlines():
        if line.startswith("```"):
            verbatim = not verbatim
            lines.append(".PP\n.nf\n.RS 4" if verbatim else ".RE\n.fi")
        elif verbatim:
            lines.append(_plain(line) or "\\&")
        elif not line:
            lines.append(".PP")
        elif line.startswith("<!--"):  # a mark of .ci/reference
            continue
        elif heading := re.match(r"(#+) (.*)", line):
            level, title = heading.groups()
            lines.append(f".SH {_plain(title.upper())}" if level == "##" else f".SS {_plain(title)}")
        elif line.startswith("|"):
            lines += _row(line)
        elif item := re.match(r"( *)[-*] (.*)", line):
            lines += [".IP \\(bu 2", _words(item[2])]
        else:
            lines.append(_words(line.strip()))
    return [line for line in lines if line]


def _row(line: str) -> list[str]:
    """A row of a table: its first cell as a term, the others below it; none of its header."""
    cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
    if re.fullmatch(r"[\s|:-]+", line) or not re.match(r"[`\d]", cells[0]):
        return []
    *between, last = filter(None, cells[1:])
    return [".TP", _words(cells[0]), *(f"{_words(cell)}." for cell in between), _words(last)]


def _words(text: str) -> str:
    """Text with what Markdown marks in it."""
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)
    parts = re.split(r"(`[^`]+`|\*\*.+?\*\*)", text)
    shown = "".join(
        f"\\fB{_escaped(part.strip('`*'))}\\fR" if part.startswith(("`", "**")) else _escaped(part) for part in parts
    )
    return f"\\&{shown}" if shown[:1] in ".'" else shown


def _plain(text: str) -> str:
    return f"\\&{_escaped(text)}" if text[:1] in (".", "'") else _escaped(text)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")


def main(version: str, folder: Path) -> None:
    """Write each page."""
    chapters = dict(chapter.split("\n", 1) for chapter in REFERENCE.read_text("utf-8").split("\n## ")[1:])
    for (name, section), (titles, what, other) in PAGES.items():
        text = "\n".join(f"## {title}\n{chapters[title]}" for title in titles)
        head = [f'.TH {name.upper()} {section} "" "filedrop {version}" "filedrop"', ".SH NAME", f"{name} \\- {what}"]
        foot = [".SH SEE ALSO", f".BR {name} ({other}).", ".PP", "The whole manual: \\fBfiledrop manual\\fR"]
        target = folder / f"man{section}" / f"{name}.{section}"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("\n".join([*head, ".SH DESCRIPTION", *roff(text), *foot, ""]), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
