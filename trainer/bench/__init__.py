"""Benchmarks: an environment's service, a store of its own, the loop of `xp train`, and a report.

run puts it together, world is the world of a service, service starts one, artifacts keeps each rollout,
report and pass_hat say what came of it, sessions trains through a session service.
"""
