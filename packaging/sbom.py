#!/usr/bin/env python3
"""The SBOM (CycloneDX 1.6) of a package, out of its lock: packaging/sbom.py debian-13 VERSION

It is printed. The same lock, version and SOURCE_DATE_EPOCH give the same bytes.
"""

from __future__ import annotations

import json
import os
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

LOCKS = Path(__file__).parent / "locks"
LINE = re.compile(r"(\S+)==(\S+) --hash=sha256:([0-9a-f]{64})")
RUNTIMES = {"windows": "3.11"}  # the installer has Python in it, Debian's packages depend on Debian's


def library(line: str) -> dict[str, object]:
    """The component of a line of the lock."""
    found = LINE.fullmatch(line)
    if found is None:
        raise SystemExit(f"packaging/sbom.py: this line isn't understood: {line}")
    name, version, checksum = found.groups()
    purl = f"pkg:pypi/{name.replace('_', '-')}@{version}"
    hashes = [{"alg": "SHA-256", "content": checksum}]
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl, "hashes": hashes}


def sbom(name: str, version: str) -> dict[str, object]:
    """The SBOM of filedrop's package of this name and version."""
    lock = (LOCKS / f"{name}.txt").read_text("utf-8")
    components = [library(line) for line in lock.splitlines() if not line.startswith("#")]
    if runtime := RUNTIMES.get(name):
        components.append({"type": "platform", "bom-ref": "python", "name": "python", "version": runtime})
    moment = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC)
    described = {"type": "application", "bom-ref": "filedrop", "name": "filedrop", "version": version}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, f'filedrop {name} {version} {moment} {lock}')}",
        "version": 1,
        "metadata": {"timestamp": f"{moment:%Y-%m-%dT%H:%M:%SZ}", "component": described},
        "components": components,
    }


sys.stdout.write(json.dumps(sbom(*sys.argv[1:]), indent=2) + "\n")
