"""Take experiences from agents, but keep them in sight.

Status deprecated: not served, still found by xp search.
One commit, a plan of its own; only the front matter changes. On main it passes the gate, where there is one.

JSON: {"plan_id", "branch": where the commit is, "commit": "" in a dry run, "status", "changed": [name],
"already": [name]}
"""

from __future__ import annotations

from xpstore.cli.lifecycle import lifecycle_command

command = lifecycle_command("deprecated", __doc__)
