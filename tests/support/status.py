"""What STATUS.html says."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from filedrop.model.report import DaemonReport
    from filedrop.status.status_file import StatusFile


def text_of(file: Path) -> str:
    """What a page says, without its tags; "" while there is none."""
    html = file.read_text(encoding="utf-8") if file.exists() else ""
    body = html.partition("<body")[2].partition("<script>")[0]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


def write_now(file: StatusFile, report: DaemonReport) -> None:
    """Write all files of the status by this report, in this thread."""
    file._report(report)
    file._survey_all(report, running=True)
