"""Objects as a loss of power leaves them, taken out of git's way: git never writes over what is there.

A broken loose object, pack or index of a pack moves to a folder beside the repository's own files (nothing is
deleted), and of a broken pack every object that can still be read is kept (pack_entries.py). What is derived
from objects and may name lost ones (commit graph, index over several packs) moves there too: git works
without it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from xpstore import gitcli, pack_entries
from xpstore.durable import sync
from xpstore.pack import write

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xpstore.git import Repo

FOLDER = "xpstore.lost"
HEX = frozenset("0123456789abcdef")
BESIDE = (".idx", ".rev", ".bitmap", ".mtimes")
"""Files that git can make again from a pack, or does without."""
PROMISOR = ".promisor"
DERIVED = ("objects/info/commit-graph", "objects/info/commit-graphs", "objects/pack/multi-pack-index")
_NAMED = 20
"""How many lost objects of a pack are named."""


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

    def rewrite(self, file: Path, data: bytes) -> None:
        """Keep what a file says and write it anew: whoever is killed leaves the old one or the new one."""
        kept = self._place(file)
        shutil.copy(file, kept)
        draft = Path(shutil.copy(file, kept.with_name(f"{kept.name}.draft")))
        draft.write_bytes(data)
        sync([str(kept), str(draft)])
        draft.replace(file)

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
    """Make the index of a pack again, or keep what can be read of the pack; return what was done.

    "" where that failed. The pack moves aside when what was read is in another one, which git has checked.
    """
    if not pack.exists():
        _take_pack(attic, pack)
        return "its index was set aside"
    with TemporaryDirectory(dir=repo.pack_dir.parent) as folder:
        draft = Path(folder) / "made.idx"
        if not gitcli.attempt(repo.place, ["index-pack", "-o", str(draft), str(pack)]).code:
            for suffix in BESIDE:
                if (file := pack.with_suffix(suffix)).exists():
                    attic.take(file)
            draft.rename(pack.with_suffix(".idx"))
            return "its index was made again"
    index = pack.with_suffix(".idx")
    found = pack_entries.read(pack.read_bytes(), index.read_bytes() if index.exists() else b"")
    if found.objects and not _written(repo, pack, found.objects):
        return ""
    _take_pack(attic, pack)
    asked = "".join(f"{object_id}\n" for object_id in found.lost).encode()
    told = gitcli.attempt(repo.place, ["cat-file", "--batch-check"], stdin=asked).out.decode().splitlines()
    lost = [line.split()[0] for line in told if line.endswith(" missing")]
    named = ", ".join(f"{found.lost[object_id]} {object_id}" for object_id in lost[:_NAMED])
    more = f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
    return f"{len(found.objects)} objects of it were kept" + (f", but not {named}{more}" if lost else "")


def _written(repo: Repo, old: Path, items: Mapping[str, pack_entries.Item]) -> bool:
    """Write objects as a new pack and return whether git reads every one of them there."""
    stem = f"{repo.pack_dir}/pack-{os.urandom(20).hex()}"
    if old.with_suffix(PROMISOR).exists():
        Path(f"{stem}{PROMISOR}").touch()  # what is missing is still what a server has
    write(repo.pack_dir, stem, *pack_entries.encode(items))
    index = Path(f"{stem}.idx")
    rows = gitcli.attempt(repo.place, ["show-index"], stdin=index.read_bytes()).out.decode().splitlines()
    checked = gitcli.attempt(repo.place, ["verify-pack", str(index)])
    return not checked.code and {row.split()[1] for row in rows} == items.keys()


def _take_pack(attic: Attic, pack: Path) -> None:
    for suffix in (*BESIDE, ".pack", PROMISOR):  # the index first: git finds a pack by it
        if (file := pack.with_suffix(suffix)).exists():
            attic.take(file)


def has_files(repo: Repo, commit: str, *, pages: bool = True) -> bool:
    """Return whether a commit and its folders are there, and the files in them too unless not `pages`.

    Its history is another matter.
    """
    if not repo.has(commit):
        return False
    listed = gitcli.attempt(repo.place, ["ls-tree", "-r", "-t", "-z", "--full-tree", commit])
    rows = [row.split("\t")[0].split(" ") for row in gitcli.records(listed.out)]
    kinds = {"tree", "blob"} if pages else {"tree"}
    return not listed.code and all(repo.has(oid) for _, kind, oid in rows if kind in kinds)


def set_derived_aside(repo: Repo, attic: Attic) -> None:
    """Move away what may name objects that are lost."""
    for name in DERIVED:
        if (file := repo.common_dir / name).exists():
            attic.take(file)
