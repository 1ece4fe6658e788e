"""A value of a document as its reader writes it: by the element that holds it, and by the place where it stands.

The names of UBL and CII end with the kind of their value (UN/CEFACT Core Components, representation terms).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from filedrop.readable.words import Words, clean
from filedrop.times import calendar_day

if TYPE_CHECKING:
    from lxml.etree import _Element

# ISO 4217: the currencies whose amounts don't have two decimals.
_DECIMALS = {
    **dict.fromkeys(("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND"), 0),
    **dict.fromkeys(("VUV", "XAF", "XOF", "XPF"), 0),
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
    **dict.fromkeys(("CLF", "UYW"), 4),
}
_RULE = 2  # decimals of every other currency
# UNTDID 2379: how a date is written, by the code of its format.
_DATES = {
    "101": (r"(\d\d)(\d\d)(\d\d)", r"\1-\2-\3"),
    "102": (r"(\d{4})(\d\d)(\d\d)", r"\1-\2-\3"),
    "103": (r"(\d\d)(\d\d)(\d)", r"\1-W\2-\3"),
    "203": (r"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)", r"\1-\2-\3 \4:\5"),
    "204": (r"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)", r"\1-\2-\3 \4:\5:\6"),
    "205": (r"(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)([+-]\d\d)(\d\d)", r"\1-\2-\3 \4:\5 \6:\7"),
    "602": (r"(\d{4})", r"\1"),
    "610": (r"(\d{4})(\d\d)", r"\1-\2"),
    "615": (r"(\d\d)(\d\d)", r"\1-W\2"),
    "616": (r"(\d{4})(\d\d)", r"\1-W\2"),
    "718": (r"(\d{4})(\d\d)(\d\d)(\d{4})(\d\d)(\d\d)", "\\1-\\2-\\3 \N{EN DASH} \\4-\\5-\\6"),
}
_NUMBERS = ("Percent", "Numeric", "Quantity", "Measure", "Rate")
_YES = {"true": "yes", "1": "yes", "false": "no", "0": "no"}


def written(element: _Element, place: _Element, said: Words, currency: str) -> str:
    """The value of an element in a place of the sheet, "" where there is none. `currency` is the document's.

    The place says where a value is a code of a list, a percentage, or is shown with its scheme or its currency.
    """
    text = clean(element.text)
    name = str(element.tag).rpartition("}")[2]
    if not text:
        return ""
    if name.endswith("Amount"):
        return _amount(text, clean(element.get("currencyID")) or currency, place, said, currency)
    if name.endswith(_NUMBERS) or element.get("unitCode"):
        unit = "%" if name.endswith("Percent") or place.get("percent") else said.unit(clean(element.get("unitCode")))
        return f"{said.number(text)} {unit}".strip()
    return _in_words(text, name, element, place, said)


def _in_words(text: str, name: str, element: _Element, place: _Element, said: Words) -> str:
    if name in ("DateTimeString", "DateString"):
        return day(text, element.get("format", "102"))
    if name.endswith("Date"):
        return calendar_day(text)
    if code_list := place.get("list"):
        return said.code(code_list, text)
    if name.endswith(("Indicator", "IndicatorString")):
        return said.label(_YES.get(text.lower(), text))
    scheme = clean(element.get("schemeID") or element.get("listID")) if place.get("scheme") else ""
    return f"{scheme}:{text}" if scheme else text


def day(stated: str, code: str) -> str:
    """A date, or a point in time, by the code of its format; as stated where it doesn't have this format."""
    pattern, form = _DATES.get(code, _DATES["102"])
    return re.sub(rf"\A{pattern}\Z", form, stated, flags=re.ASCII)


def _amount(stated: str, own: str, place: _Element, said: Words, currency: str) -> str:
    """With the decimals of its currency at least. Tables show the currency where it is not the document's."""
    fewest = _DECIMALS.get(own, _RULE) if own else 0
    number = said.number(stated, fewest)
    is_bare = place.tag in ("cell", "detail") and own == currency and not place.get("currency")
    return f"{number} {own}".strip() if not is_bare else number
