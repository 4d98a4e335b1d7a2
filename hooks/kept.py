"""The hooks that were there before: they lie beside our shims under a second name, and run under their own.

A dispatcher asks the name it was started with which hook it is, so a kept program is started through a link
that has the first name: `xpstore-1/pre-commit` for `pre-commit.xpstore-1`. The file itself does not move to
another folder, so relative links, and what a program finds beside its real place, stay right.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_KEPT = re.compile(r"(.+)\.(xpstore-\d+)")


def is_kept(name: str) -> bool:
    """Return whether a file is called as a kept hook is."""
    return _KEPT.fullmatch(name) is not None


def link_of(kept: str) -> str:
    """Return where the link to a kept hook is, in the folder of hooks; "" for a name that is none of one."""
    match = _KEPT.fullmatch(kept)
    return f"{match[2]}/{match[1]}" if match else ""


def link(where: Path, kept: str) -> None:
    """Make the link to a kept hook; where something has its place, or links cannot be, there is none."""
    file = where / link_of(kept)
    with suppress(OSError):  # the shim then starts the hook under its second name
        file.parent.mkdir(exist_ok=True)
        file.symlink_to(f"../{kept}")


def unlink(where: Path, kept: str) -> None:
    """Take the link to a kept hook away, if there is one, and its folder where nothing else is in it."""
    file = where / link_of(kept)
    with suppress(OSError):
        if os.readlink(file) == f"../{kept}":  # noqa: PTH115  # the text of the link, as we have written it
            file.unlink()
            file.parent.rmdir()


def keep(path: Path) -> str:
    """Give a hook its second name, which nothing has, and return it."""
    number = 1
    while True:
        kept = path.with_name(f"{path.name}.xpstore-{number}")
        try:
            os.link(path, kept, follow_symlinks=False)  # fails where the name is taken
        except FileExistsError:
            if os.path.samestat(kept.lstat(), path.lstat()):  # an installation that was stopped here
                return kept.name
            number += 1
        else:
            return kept.name
