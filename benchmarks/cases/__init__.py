"""What is measured. Importing this registers all cases, in the order in which they are run."""

from benchmarks.cases import identifying, showing, server, outward, inward, latency, growth, idle  # isort: skip
from benchmarks.cases import memory, start, status, database, hosts, takeover, soak, compare  # isort: skip

__all__ = [
    "compare",
    "database",
    "growth",
    "hosts",
    "identifying",
    "idle",
    "inward",
    "latency",
    "memory",
    "outward",
    "server",
    "showing",
    "soak",
    "start",
    "status",
    "takeover",
]
