"""Git entry points: what `xp hook` checks, how its shims are installed, and CI templates."""
