"""What the null access point itself can do: no figure of filedrop's can be better."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

from benchmarks.bare import FIELDS
from benchmarks.documents import numbered_document
from benchmarks.frame import Bench, Figure, Skipped, case
from benchmarks.installation import NullServer
from benchmarks.processes import living

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

POST = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "multipart/form-data; boundary=bench"
local file = io.open("{body}", "rb")
wrk.body = file:read("*a")
file:close()
"""


@case("null-server")
def null_server(bench: Bench) -> Iterator[Figure]:
    """How many documents a second the null access point takes from wrk, by connections."""
    if shutil.which("wrk") is None:
        raise Skipped("wrk is not installed: apt install wrk")
    folder = bench.new_folder()
    (folder / "body").write_bytes(multipart())
    (folder / "post.lua").write_text(POST.format(body=folder / "body"))
    for connections in bench.these(1, 4, 16):
        with NullServer.running() as server:
            (rounds,) = bench.in_turn(lambda: requests_a_second(bench, folder, server, connections))  # noqa: B023 - called in this turn
        yield Figure(f"POST /outbox, 20 KB, {connections} connections", "/s", rounds.each(float), note="the ceiling")


def multipart() -> bytes:
    """The body of a post, as a client writes it."""
    begin = "--bench\r\nContent-Disposition: form-data; name="
    fields = "".join(f'{begin}"{name}"\r\n\r\n{value}\r\n' for name, value in FIELDS.items())
    head = f'{fields}{begin}"file"; filename="document.xml"\r\nContent-Type: application/xml\r\n\r\n'
    return head.encode() + b"1".join(numbered_document()) + b"\r\n--bench--\r\n"


def requests_a_second(bench: Bench, folder: Path, server: NullServer, connections: int) -> float:
    """What wrk counts; an answer that isn't 2xx, or a broken connection, is an error."""
    duration = f"-d{max(1, round(bench.seconds(5)))}s"
    command = ("wrk", "-t1", f"-c{connections}", duration, "-s", folder / "post.lua", f"{server.url}/outbox")
    with living(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        said = process.communicate()[0].decode()
    found = re.search(r"Requests/sec:\s*([0-9.]+)", said)
    if not found or "Non-2xx" in said or "Socket errors" in said:
        raise RuntimeError(said)
    return float(found[1])
