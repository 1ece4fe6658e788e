"""What is measured. Importing this registers all cases, in the order in which they are run."""

from tests.benchmarks.cases import identifying, server, outward, inward, latency, growth, idle, memory, start  # isort: skip

__all__ = ["growth", "identifying", "idle", "inward", "latency", "memory", "outward", "server", "start"]
