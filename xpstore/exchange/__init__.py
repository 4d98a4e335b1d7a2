"""Experiences in the files of other programs, and back: skills, AGENTS.md and CLAUDE.md, OpenViking, JSON.

export (bundle.py)   experiences → files          `xp export`
foreign.py           files → the source of a store   `xp init --from`
"""
