"""A sheet as a page of HTML that stands on its own: no script, nothing from elsewhere, everything escaped.

The page's own policy lets a browser apply this one style and load nothing (Content Security Policy Level 3). The only
links are those to attachments beside it.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from filedrop.readable.tree import NotReadable
from filedrop.readable.words import clean
from filedrop.texts.printable import size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jinja2 import Template

    from filedrop.readable.sheets import Sheet

LARGEST = 10_000_000  # bytes of a page; 2,000 lines with all that can be said of them have a fifth of it
_FOLDER = Path(__file__).parent


def page(sheet: Sheet, file: str, beside: Mapping[int, str], notices: Sequence[str] = ()) -> bytes:
    """A sheet as a page, in UTF-8. `file` is the document's name; `beside` are attachments beside the page.

    The keys of `beside` are the numbers of what is embedded; its names are file names, not paths. `notices` are
    sentences about the document, in the sheet's language.
    Raises NotReadable where the page would be too large.
    """
    shown = {attachment.number for attachment in sheet.attached}
    attachments = [(attachment.text, beside.get(attachment.number or 0, "")) for attachment in sheet.attached]
    attachments += [("", name) for number, name in beside.items() if number not in shown]
    made_from = sheet.made_from.format(file=clean(file))
    made = bytearray()
    for part in _template().generate(
        sheet=sheet, attachments=attachments, made_from=made_from, notices=map(clean, notices)
    ):
        made += part.encode("utf-8", "replace")
        if len(made) > LARGEST:
            raise NotReadable(f"is too large to be shown: its page would have more than {size(LARGEST)}")
    return bytes(made)


@lru_cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415 - a tenth of a second and 4 MB
    from markupsafe import Markup  # noqa: PLC0415 - Jinja brings it

    style = (_FOLDER / "page.css").read_text(encoding="utf-8")
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["style"] = Markup(style)  # noqa: S704 - ours
    environment.globals["policy"] = (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    environment.filters |= {"clean": clean, "quoted": partial(quote, safe="")}
    return environment.get_template("page.html")
