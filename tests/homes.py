"""Another HOME within this process."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pygit2
from pygit2.enums import ConfigLevel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def libgit2_home(home: Path) -> Iterator[None]:
    """Let libgit2, which looks HOME up once when it is loaded, read the configuration of this one."""
    paths = pygit2.settings.search_path
    wanted = {
        ConfigLevel.GLOBAL: str(home),
        ConfigLevel.XDG: str(home / ".config" / "git"),
        ConfigLevel.SYSTEM: str(home / "none"),
    }
    before = {level: paths[level] for level in wanted}
    for level, value in wanted.items():
        paths[level] = value
    try:
        yield
    finally:
        for level, value in before.items():
            paths[level] = value
