"""Benchmarks: an environment's service, a store of its own, the loop of `xp train`, and a report."""
