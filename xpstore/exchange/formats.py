"""The formats that experiences are exported in."""

from __future__ import annotations

from typing import Literal

Format = Literal["skills", "agents-md", "claude-md", "openviking", "json"]
FORMATS: tuple[Format, ...] = ("skills", "agents-md", "claude-md", "openviking", "json")
FOLDERS: frozenset[Format] = frozenset({"skills", "openviking"})
"""Formats that are a folder; the others are one file."""
FIGURES: frozenset[Format] = frozenset({"openviking", "json"})
"""Formats that programs read: figures stay."""
