"""Take objects out of a repository for good: out of every pack, kept ones included, and the loose files.

`git gc --prune=now` would do it too, and with it destroy everything else that is unreachable: a dropped
stash, a commit before a reset. So only packs that hold something doomed are written again, without it, and
whatever else they hold, reachable or not, stays. What cannot stay is an unreachable tree or commit that
leads to a doomed object: it would be broken.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from xpstore import derived, gitcli, salvage
from xpstore.errors import RefusedError, RepositoryError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from xpstore.git import Repo

ROOTS = ("--all", "--reflog", "--indexed-objects")
COMPANIONS = (".keep", ".promisor")
"""Files beside a pack whose meaning goes over to the pack that replaces it."""
SUFFIXES = (".idx", ".rev", ".bitmap", ".mtimes", ".pack", *COMPANIONS)
"""The index goes first: a pack without one is not looked at."""


def forget_reflogs(repo: Repo, commits: set[str]) -> None:
    """Drop the reflog entries, of every ref and working tree, that lead to or from one of these commits."""
    folders = [repo.common_dir / "logs", *(repo.common_dir / "worktrees").glob("*/logs")]
    for log in (file for folder in folders for file in folder.rglob("*") if file.is_file()):
        lines = log.read_bytes().splitlines(keepends=True)
        kept: list[bytes] = []
        for line in lines:
            if line[:40].decode() in commits or line[41:81].decode() in commits:
                continue
            # every entry begins where the one before it ends, also where some between them are gone
            kept.append(kept[-1][41:81] + line[40:] if kept else line)
        if len(kept) < len(lines):
            _replace(log, b"".join(kept))


def _replace(log: Path, data: bytes) -> None:
    draft = log.with_name(f"{log.name}.lock")  # git's own lock on this log
    try:
        with draft.open("xb") as out:
            out.write(data)
        draft.replace(log)
    except OSError as error:
        raise RepositoryError(
            f"cannot rewrite {log}: {error.strerror or error}", hint="run it again"
        ) from error


def purge(repo: Repo, blobs: set[str], unless_held: set[str]) -> int:
    """Remove blobs and what leads to them; return how many objects went.

    Those of `unless_held` stay where something reaches them. Raises RefusedError where something reaches one
    of the others; then nothing is removed.
    """
    derived.drop(repo)  # what is made from objects must not outlive them
    salvage.drop(repo)  # nor what a repair has set aside
    present = set(_present(repo, blobs | unless_held))
    if not present:
        return 0
    reachable = dict(_reachable(repo))
    present -= unless_held & reachable.keys()
    held = present & reachable.keys()
    if held:
        where = ", ".join(sorted(reachable[oid] or oid for oid in held)[:3])
        raise RefusedError(
            f"still reachable: {where}",
            hint=f"git log --all --find-object={min(held)} shows where; remove it there and run this again",
        )
    doomed = _closure(repo, present, reachable.keys())
    _rewrite_packs(repo, doomed)
    for oid in doomed:
        (repo.common_dir / "objects" / oid[:2] / oid[2:]).unlink(missing_ok=True)
    _renew_graph(repo)
    left = list(_present(repo, present))
    if left:
        raise RepositoryError(
            f"{len(left)} objects are still there, such as {left[0]}",
            hint="another repository lends its objects to this one (objects/info/alternates): purge it there",
        )
    return len(doomed)


def _present(repo: Repo, oids: Iterable[str]) -> Iterator[str]:
    stdin = "".join(f"{oid}\n" for oid in sorted(oids)).encode()
    out = gitcli.run(repo.place, ["cat-file", "--batch-check=%(objectname) %(objecttype)"], stdin=stdin)
    return (line.split()[0] for line in out.decode().splitlines() if not line.endswith(" missing"))


def _reachable(repo: Repo) -> Iterator[tuple[str, str]]:
    """Yield id and path of everything that a ref, reflog, HEAD or index of any working tree reaches."""
    out = gitcli.run(repo.place, ["rev-list", "--objects", *ROOTS])
    for line in out.decode("utf-8", "replace").splitlines():
        oid, _, path = line.partition(" ")
        yield oid, path


def _closure(repo: Repo, doomed: set[str], reachable: Iterable[str]) -> set[str]:
    """Return the doomed objects with every unreachable tree, commit and tag that leads to one of them."""
    format_ = "--batch-check=%(objectname) %(objecttype)"
    out = gitcli.run(repo.place, ["cat-file", "--batch-all-objects", "--unordered", format_])
    kinds = dict(line.split() for line in out.decode().splitlines())
    for oid in reachable:
        kinds.pop(oid, None)
    above: defaultdict[str, list[str]] = defaultdict(list)
    for oid, kind in kinds.items():
        for below in _children(repo, oid, kind):
            above[below].append(oid)
    found, todo = set(doomed), list(doomed)
    while todo:
        for oid in above[todo.pop()]:
            if oid not in found:
                found.add(oid)
                todo.append(oid)
    return found


def _children(repo: Repo, oid: str, kind: str) -> list[str]:
    if kind == "tree":
        return [entry.id for entry in repo.read_tree(oid)]
    if kind == "commit":
        commit = repo.commit(oid)
        return [commit.tree, *commit.parents]
    if kind == "tag":
        return [gitcli.run(repo.place, ["cat-file", "tag", oid])[7:47].decode()]  # `object <id>`
    return []


def _rewrite_packs(repo: Repo, doomed: set[str]) -> None:
    for index in sorted(repo.pack_dir.glob("pack-*.idx")):
        rows = gitcli.run(repo.place, ["show-index"], stdin=index.read_bytes()).decode().splitlines()
        ids = [row.split()[1] for row in rows]
        kept = [oid for oid in ids if oid not in doomed]
        if len(kept) < len(ids):
            if kept:
                _write_pack(repo, index, kept)
            for midx in repo.pack_dir.glob("multi-pack-index*"):
                midx.unlink(missing_ok=True)  # it names the old pack; git works without one
            for suffix in SUFFIXES:
                index.with_suffix(suffix).unlink(missing_ok=True)


def _write_pack(repo: Repo, old: Path, ids: Iterable[str]) -> None:
    stdin = "".join(f"{oid}\n" for oid in ids).encode()
    prefix = str(repo.pack_dir / "pack")
    names = gitcli.run(repo.place, ["pack-objects", "-q", prefix], stdin=stdin).decode().split()
    for suffix in COMPANIONS:
        companion = old.with_suffix(suffix)
        if companion.exists():
            for name in names:
                (repo.pack_dir / f"pack-{name}{suffix}").write_bytes(companion.read_bytes())


def _renew_graph(repo: Repo) -> None:
    """Write the commit graph anew where there is one: it lists commits that are gone."""
    info = repo.common_dir / "objects" / "info"
    chain, single = info / "commit-graphs", info / "commit-graph"
    split = ["--split=replace"] if chain.is_dir() else []
    if split or single.is_file():
        for file in (single, *chain.glob("*")):
            file.unlink(missing_ok=True)
        gitcli.run(repo.place, ["commit-graph", "write", "--reachable", *split])
