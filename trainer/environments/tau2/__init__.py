"""tau2-bench as an environment: its own process and its own Python, behind the service kit (RFC §14, §15)."""
