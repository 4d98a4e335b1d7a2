"""The verbs `xp hook` and `xp hooks`."""
