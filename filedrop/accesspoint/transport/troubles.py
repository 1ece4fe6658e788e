"""Reasons why there was no answer, each as half a sentence that says what to do.

requests and urllib3 wrap an exception of the standard library several times; only that one is judged here. Their own
texts are never shown: they are long, and may contain addresses.
"""

from __future__ import annotations

import errno
import re
import socket
import ssl
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# OpenSSL's numbers (x509_vfy.h): expired; not yet valid; wrong host, wrong IP address; and Windows' (winerror.h):
# CERT_E_EXPIRED, which says both of the former, and CERT_E_CN_NO_MATCH.
_EXPIRED, _NOT_YET, _EITHER, _WRONG_NAME = 10, 9, 0x800B0101, (62, 64, 0x800B010F)
_UNREACHABLE = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN)
_OLD_PROTOCOL = ("UNSUPPORTED_PROTOCOL", "ALERT_PROTOCOL_VERSION", "WRONG_SSL_VERSION", "NO_PROTOCOLS_AVAILABLE")
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")


class PrivateAddress(OSError):
    """A link led to a private address."""


class TooSlow(TimeoutError):
    """The answer came too slowly to wait for its end."""


class OutOfTurn(OSError):
    """An interim answer makes the beginning of the final one uncertain."""


class TooMuch(OSError):
    """The answer has too much overhead, or too many interim answers before it."""


_NO_HANDSHAKE = (
    "it accepts the connection and doesn't answer in TLS: it may speak plain HTTP at that port; check base_url's port, "
    "and any firewall"
)
_SENTENCES = {
    PrivateAddress: "the link leads into a private network, and is not followed; tell the access point's operator",
    OutOfTurn: "the answer can't be separated from what came before it; tell the access point's operator",
    TooMuch: "the answer has almost no content, and doesn't end; tell the access point's operator",
    TooSlow: "the answer came too slowly; tell the access point's operator",
    socket.gaierror: "the name is unknown; check base_url and the network",
    ConnectionRefusedError: "nothing listens there; check base_url's port, or wait until the access point is back",
    TimeoutError: "no answer came in time; check the network and any firewall",
    ConnectionError: "the other side broke the connection",
}


def why(error: BaseException) -> str:
    """The reason and what to do about it, without a full stop."""
    for cause in reversed(list(_chain(error))):
        reason = _reason(cause)
        if reason:
            return reason
    return "the connection broke; check the network"


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _reason(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return _certificate(error)
    if isinstance(error, ssl.SSLError):
        return _handshake(error)
    for kind, sentence in _SENTENCES.items():
        if isinstance(error, kind):
            in_a_handshake = kind is TimeoutError and "handshake" in str(error)  # ssl's words
            return _NO_HANDSHAKE if in_a_handshake else sentence
    if isinstance(error, OSError) and error.errno in _UNREACHABLE:
        return "the host can't be reached; check the network"
    tunnel = re.match(r"Tunnel connection failed: (\d{3})", str(error))  # http.client's words
    if tunnel:
        advice = "its user and password" if tunnel[1] == "407" else "whether it allows connections from this computer"
        return f"the proxy refused the connection ({tunnel[1]}); check {advice}"
    return ""


def _certificate(error: ssl.SSLCertVerificationError) -> str:
    code = getattr(error, "verify_code", 0)
    if code == _EXPIRED:
        return "its certificate has expired; tell its operator, and check this computer's clock"
    if code == _NOT_YET:
        return "its certificate is not valid yet; check this computer's clock"
    if code == _EITHER:
        return "its certificate has expired or is not valid yet; check this computer's clock, and tell its operator"
    if code in _WRONG_NAME:
        return "its certificate is for another host; check base_url"
    return "its certificate is from an authority that is not trusted here; if it is the right one, name it in ca_file"


def _handshake(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return _SENTENCES[ConnectionError]
    reason = error.reason or ""
    if any(word in reason for word in _OLD_PROTOCOL):
        return "it offers only TLS versions before 1.2, which filedrop doesn't use; tell its operator"
    if any(word in reason for word in _NO_TLS):
        return "it does not speak TLS at that port; check base_url's scheme and port"
    return "no TLS connection could be set up; check base_url, and any proxy or firewall in between"
