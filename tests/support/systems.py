"""What tests need and a system lacks: each reason once, told by `pytest -rs`."""

from __future__ import annotations

import ctypes
import sys

import pytest

WINDOWS = sys.platform == "win32"
WINE = sys.platform == "win32" and hasattr(ctypes.windll.ntdll, "wine_get_version")

stop_signals = pytest.mark.skipif(WINDOWS, reason="Windows has no SIGTERM; its service is stopped by the manager")
processes_shown = pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what a process has open")
modes = pytest.mark.skipif(WINDOWS, reason="Windows gives rights by access lists, and under Wine all is one user's")
writers_unknown = pytest.mark.skipif(WINDOWS, reason="Windows tells who writes (behaviour/test_in_use.py)")
certificates = pytest.mark.skipif(WINE, reason="Wine knows neither `ca_file` nor a certificate of an address")
hang_up = pytest.mark.skipif(WINDOWS, reason="Windows has no SIGHUP; its service is told by the manager")
by_os_open = pytest.mark.skipif(WINDOWS, reason="Windows opens files by another call, which can't be made to fail so")
folders_flushed = pytest.mark.skipif(WINDOWS, reason="NTFS keeps its own journal of names")
