"""A real browser, Debian's Chromium without a window, driven by its chromedriver (W3C WebDriver, plain HTTP)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import urllib.request
from base64 import b64decode
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip

PROBLEMS = (Path(__file__).parent / "problems.js").read_text(encoding="utf-8")


class Browser:
    """A browser with one window."""

    def __init__(self, port: int, session: str) -> None:
        self._base = f"http://127.0.0.1:{port}/session/{session}"

    def open(self, page: Path, *, width: int = 1280, scheme: str = "light", media: str = "screen") -> None:
        """Load a page from a file."""
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self._do("Emulation.setDeviceMetricsOverride", metrics)
        self._do(
            "Emulation.setEmulatedMedia",
            {"media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]},
        )
        post(f"{self._base}/url", {"url": page.as_uri()})

    def hurry(self) -> None:
        """Have all pages that are loaded from now on take a second for a minute."""
        script = """const now = Date.now, begin = now(), every = setInterval;
            Date.now = () => begin + 60 * (now() - begin); setInterval = (work, pause) => every(work, pause / 60)"""
        self._do("Page.addScriptToEvaluateOnNewDocument", {"source": script})

    def problems(self) -> list[str]:
        """What is wrong with the page as it is shown, and what the console says."""
        log = post(f"{self._base}/se/log", {"type": "browser"})
        return [*self.run(PROBLEMS), *(f"console: {line['message']}" for line in log)]

    def run(self, script: str) -> Any:
        """What a script returns."""
        return post(f"{self._base}/execute/sync", {"script": script, "args": []})

    def text(self) -> str:
        """The page's text, as it is seen."""
        text: str = self.run("return document.body.innerText")
        return text

    def printed(self) -> bytes:
        """The page as a PDF, on A4."""
        return b64decode(post(f"{self._base}/print", {"page": {"width": 21, "height": 29.7}}))

    def _do(self, command: str, parameters: dict[str, Any]) -> None:
        post(f"{self._base}/goog/cdp/execute", {"cmd": command, "params": parameters})


def post(url: str, content: Any) -> Any:
    """What chromedriver answers."""
    request = urllib.request.Request(url, json.dumps(content).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["value"]


@contextmanager
def started() -> Iterator[Browser]:
    """A browser, for as long as this lasts. Skips the test where there is none."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("no chromium and chromedriver: apt-get install chromium chromium-driver")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert process.stdout
            port = next(
                int(found[1]) for line in process.stdout if (found := re.search(r"successfully on port (\d+)", line))
            )
            base = f"http://127.0.0.1:{port}/session"
            options = {"binary": chromium, "args": [*_FLAGS, f"--user-data-dir={profile}"]}
            wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
            session = post(base, {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
            yield Browser(port, session)
            with suppress(OSError):
                quit_ = urllib.request.Request(f"{base}/{session}", method="DELETE")
                urllib.request.urlopen(quit_, timeout=30).close()
        finally:
            process.terminate()
            process.wait()
            process.stdout.close() if process.stdout else None
