"""The service kit: an author writes one class, `runtime.EnvironmentRuntime`, and serves it over HTTP.

the service   service, routes → intake (submitted once per key) → executions (queue, limits) → store
the runtime   installed (by name), foreign (an author's module), served; experiences: the pages it reads
cases         cases (pages of them)         check: the questions of `xp env check`

A rollout is submitted under a key: what was lost is asked for again, and runs once. Only what has ended is
kept; what ran when a service ended is a 404, and the client submits it again.
"""
