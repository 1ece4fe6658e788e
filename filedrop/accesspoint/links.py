"""base_url, and the links that the access point gives.

Behind a proxy, a link can have the wrong scheme and port with the right host (field notes). So of a link to base_url's
host only path and query are used, on base_url itself, and only there is the login sent. A *target* here is such a path
and query, percent-encoded for a request line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode, urljoin, urlsplit

from filedrop.errors import NoClearAnswer

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEPT = "/%:=&?~+!$,;'@()*"  # encoded already, or reserved in path and query (RFC 3986, 3.3 and 3.4)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Address:
    """base_url, parsed."""

    def __init__(self, base_url: str) -> None:
        parts = urlsplit(base_url)
        self.origin = f"{parts.scheme.lower()}://{parts.netloc}"
        self.host = parts.hostname or ""
        self._clear = parts.scheme.lower() == "http"  # loopback: the configuration allows http nowhere else
        self._path = parts.path.rstrip("/")

    def target(self, *steps: str | int, query: Mapping[str, str] | None = None) -> str:
        """The target of a documented path under base_url, each step encoded: `target("outbox", 17)`."""
        path = "".join("/" + quote(str(step), safe="") for step in steps)
        return self._path + path + ("?" + urlencode(query, quote_via=quote) if query else "")

    def own(self, link: str | None, seen_at: str = "/") -> str | None:
        """The target of a link to base_url's host, or of one relative to the target `seen_at`; None for any other."""
        return self._reduce(link, seen_at, elsewhere=False) if link else None

    def next_page(self, link: str, seen_at: str) -> str:
        """The target of a list's next page; on another host, only under base_url's path. Raises NoClearAnswer."""
        target = self._reduce(link, seen_at, elsewhere=True)
        if target is None:
            raise NoClearAnswer(
                f"the next page of {self.origin}{seen_at} is said to be outside base_url; tell its operator"
            )
        return target

    def elsewhere(self, link: str, seen_at: str) -> str | None:
        """The absolute URL of a link to another host; None where it isn't https, or no URL at all."""
        try:
            url = urljoin(seen_at, link)
            parts = urlsplit(url)
            host = parts.hostname
        except ValueError:  # brackets that hold no IPv6 address
            return None
        return url if host and (parts.scheme == "https" or (self._clear and host in _LOOPBACK)) else None

    def _reduce(self, link: str, seen_at: str, *, elsewhere: bool) -> str | None:
        try:
            parts = urlsplit(urljoin(self.origin + seen_at, link))
            host = parts.hostname
        except ValueError:  # brackets that hold no IPv6 address
            return None
        ours = elsewhere and (parts.path + "/").startswith(self._path + "/")
        if parts.scheme not in ("http", "https") or not (host == self.host or ours):
            return None
        return quote(parts.path or "/", safe=_KEPT) + ("?" + quote(parts.query, safe=_KEPT) if parts.query else "")
