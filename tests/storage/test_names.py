"""Names that are kept without being kept."""

from __future__ import annotations

from filedrop.storage.names import Names


def test_names() -> None:
    """A name is among them or isn't, however many they are, in whatever encoding they came."""
    names = [f"invoice-{number}.xml" for number in range(1000)] + ["faktura-\udce5.xml"]
    kept = Names(iter(names))
    assert all(name in kept for name in names)
    assert not any(f"{name}.json" in kept for name in names)
    assert "invoice" not in Names([])
