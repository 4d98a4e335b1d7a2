"""Objects as a loss of power leaves them, taken out of git's way: git never writes over what is there.

A broken loose object, pack or index of a pack moves to a folder beside the repository's own files (nothing is
deleted), and of a broken pack every object that can still be read is kept. What is derived from objects and
may name lost ones (commit graph, index over several packs) moves there too: git works without it.
"""

from __future__ import annotations

import hashlib
import shutil
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xpstore import gitcli

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from xpstore.git import Repo

FOLDER = "xpstore.lost"
HEX = frozenset("0123456789abcdef")
BESIDE = (".idx", ".rev", ".bitmap", ".mtimes")
"""Files that git can make again from a pack, or does without."""
DERIVED = ("objects/info/commit-graph", "objects/info/commit-graphs", "objects/pack/multi-pack-index")


@dataclass(frozen=True, slots=True)
class Fault:
    """Something broken, and what became of it."""

    what: str
    """An object, a file or a ref."""
    problem: str
    done: str = ""
    """How it was mended; "" where it was not, or not yet."""


@dataclass
class Attic:
    """The folder that keeps what was replaced, under the path that it had in the git directory."""

    common_dir: Path
    folder: Path | None = field(default=None, init=False)
    """None as long as nothing was put there."""

    def take(self, file: Path) -> Path:
        """Move a file or folder of the git directory into the attic and return its new place."""
        kept = self._place(file)
        file.rename(kept)
        return kept

    def copy(self, file: Path) -> None:
        """Keep what a file says before it is written anew."""
        self._place(file).write_bytes(file.read_bytes())

    def _place(self, file: Path) -> Path:
        if self.folder is None:
            above = self.common_dir / FOLDER
            above.mkdir(exist_ok=True)
            numbers = [int(p.name) for p in above.iterdir() if p.name.isdecimal()]
            self.folder = above / str(max(numbers, default=0) + 1)
            self.folder.mkdir()
        kept = self.folder / file.relative_to(self.common_dir)
        kept.parent.mkdir(parents=True, exist_ok=True)
        return kept


def drop(repo: Repo) -> None:
    """Delete everything that was set aside, for good: something of it may be what is to be forgotten."""
    shutil.rmtree(repo.common_dir / FOLDER, ignore_errors=True)


def loose_faults(repo: Repo) -> Iterator[tuple[Path, Fault]]:
    """Yield the loose objects that are not what their names say, with their files."""
    objects = repo.common_dir / "objects"
    for shard in sorted(p for p in objects.iterdir() if len(p.name) == 2 and HEX.issuperset(p.name)):
        for file in sorted(p for p in shard.iterdir() if len(p.name) == 38 and HEX.issuperset(p.name)):
            problem = _problem(file.read_bytes(), shard.name + file.name)
            if problem:
                yield file, Fault(f"object {shard.name}{file.name}", problem)


def _problem(data: bytes, object_id: str) -> str:
    if not data:
        return "its file is empty"
    try:
        whole = zlib.decompress(data)
    except zlib.error:
        return "its file is cut off or garbage"
    found = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    return "" if found == object_id else "its file holds something else"


def pack_faults(repo: Repo) -> Iterator[tuple[Path, Fault]]:
    """Yield the packs (`.pack`, there or not) of which pack or index is broken or missing."""
    stems = {f.with_suffix("") for f in repo.pack_dir.glob("pack-*") if f.suffix in {".pack", ".idx"}}
    for stem in sorted(stems):
        pack, index = stem.with_suffix(".pack"), stem.with_suffix(".idx")
        if not pack.exists():
            yield pack, Fault(pack.name, "it is missing, only its index is there")
        elif not index.exists() and not stem.with_suffix(".keep").exists():  # else it is being written
            yield pack, Fault(pack.name, "its index is missing")
        elif index.exists() and gitcli.attempt(repo.place, ["verify-pack", str(index)]).code:
            yield pack, Fault(pack.name, "it, or its index, is cut off or garbage")


def mend_pack(repo: Repo, attic: Attic, pack: Path) -> str:
    """Make the index of a pack again, or keep what can be read of the pack; return what was done."""
    for suffix in BESIDE:
        if (file := pack.with_suffix(suffix)).exists():
            attic.take(file)
    if not pack.exists():
        return "its index was set aside"
    if not gitcli.attempt(repo.place, ["index-pack", str(pack)]).code:
        return "its index was made again"
    kept = attic.take(pack)
    # as far as it can be read: what comes before the damage is written, one loose object each
    gitcli.attempt(repo.place, ["unpack-objects", "-r", "-q"], stdin=kept.read_bytes())
    return "what can be read of it was kept"


def set_derived_aside(repo: Repo, attic: Attic) -> None:
    """Move away what may name objects that are lost."""
    for name in DERIVED:
        if (file := repo.common_dir / name).exists():
            attic.take(file)
