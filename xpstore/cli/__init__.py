"""The `xp` command, one module per verb. Only the command packages print or read the environment."""
