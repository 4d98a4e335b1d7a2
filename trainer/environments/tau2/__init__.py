"""tau2-bench as an environment: its own process and its own Python, behind the service kit (RFC §14, §15).

ours alone   runtime, executor, reading, settings, job
meets tau2   guard, library, simulation
reads it     tasks, messages, scoring: gold actions stay in this process
"""
