"""The verbs of `xp` that train."""
