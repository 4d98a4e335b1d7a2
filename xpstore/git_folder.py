"""A git directory that git takes for none: HEAD or the folder of the refs is gone, all else is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xpstore.salvage import Fault

if TYPE_CHECKING:
    from pathlib import Path


def unopened(path: Path) -> Path | None:
    """Return the git directory that `path` is in, where git does not know it any more; else None."""
    for above in (path.resolve(), *path.resolve().parents):
        pointer = above / ".git"
        if pointer.is_file():  # a linked working tree: its git directory is elsewhere
            return None
        for folder in (pointer, above):
            if _is_git_directory(folder):
                return folder if faults(folder) else None
    return None


def faults(git_dir: Path) -> list[Fault]:
    """Name what git needs and is gone."""
    needed = {"HEAD": git_dir / "HEAD", "refs": git_dir / "refs"}
    return [Fault(name, "it is gone") for name, file in needed.items() if not file.exists()]


def open_again(git_dir: Path) -> list[Fault]:
    """Make the folder of the refs, and a HEAD that still has to be filled; return what was made again."""
    found = faults(git_dir)
    for folder in ("heads", "tags"):
        (git_dir / "refs" / folder).mkdir(parents=True, exist_ok=True)
    (git_dir / "HEAD").touch()
    return [Fault(fault.what, fault.problem, "made again") for fault in found if fault.what != "HEAD"]


def _is_git_directory(folder: Path) -> bool:
    config = folder / "config"
    has_objects = (folder / "objects" / "pack").is_dir() or (folder / "objects" / "info").is_dir()
    return (
        has_objects and config.is_file() and "repositoryformatversion" in config.read_text("utf-8", "replace")
    )
