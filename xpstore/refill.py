"""Write lost objects again from where their bytes are still at hand, and from nowhere else.

An object is named by the hash of its bytes, so what fits is what was lost:

files     a page in a working tree is a blob; an index has what is in the folders
patches   the evidence has every page that a plan has read or written
plans     the record of a plan says what its commit made of its parent's files
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from xpstore import evidence_read, gitcli, layout, objects, trees, worktree
from xpstore.errors import XpError
from xpstore.hashing import blob_id
from xpstore.patchfile import read_patch
from xpstore.trailers import plan_ids

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from xpstore.git import Repo
    from xpstore.location import Location


def lost(repo: Repo) -> dict[str, str]:
    """Return id → kind of the objects that something (a ref, a reflog) leads to and that are not there."""
    done = gitcli.attempt(repo.place, ["fsck", "--connectivity-only", "--no-dangling"])
    rows = [line.split() for line in done.out.decode("utf-8", "replace").splitlines()]
    return {row[2]: row[1] for row in rows if len(row) == 3 and row[0] == "missing"}


def put(repo: Repo, kind: str, data: bytes) -> str:
    """Write an object and return its id."""
    command = ["hash-object", "-w", "--stdin", "-t", kind]
    return gitcli.run(repo.place, command, stdin=data).decode().strip()


def from_working_trees(repo: Repo, wanted: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Write again what files and index of the working trees have; yield id and where it was found."""
    for place in {place for places in worktree.by_branch(repo).values() for place in places}:
        staged = gitcli.attempt(place, ["ls-files", "-s", "-z", "--full-name"])
        rows = [row.partition("\t") for row in gitcli.records(staged.out)]
        files = {path: objects.Entry("", int(head[:6], 8), head[7:47]) for head, _, path in rows}
        for path, entry in files.items():
            if entry.id in wanted and _is_back(repo, place / path, entry.id):
                yield entry.id, path
        for made in _folders(files):
            if made.id in wanted:
                yield put(repo, "tree", made.data), "the index"


def _folders(files: Mapping[str, objects.Entry]) -> Iterator[objects.GitObject]:
    """Yield the trees of an index, each folder after those in it."""
    below: defaultdict[str, dict[str, objects.Entry]] = defaultdict(dict)
    for path, entry in files.items():
        folder, _, name = path.rpartition("/")
        below[folder][name] = objects.Entry(name, entry.mode, entry.id)
        while folder:  # a folder of folders only has no file that would name it
            folder = folder.rpartition("/")[0]
            below.setdefault(folder, {})
    for folder in sorted(below, key=lambda f: f.count("/") + bool(f), reverse=True):
        made = objects.make_tree(below[folder].values())
        yield made
        if folder:
            above, _, name = folder.rpartition("/")
            below[above][name] = objects.Entry(name, objects.TREE_MODE, made.id)


def _is_back(repo: Repo, file: Path, blob: str) -> bool:
    if file.is_symlink() or not file.is_file():
        return False
    data = file.read_bytes()
    for version in (data, data.replace(b"\r\n", b"\n")):
        if objects.object_id("blob", version) == blob:
            return put(repo, "blob", version) == blob
    return False


def from_patches(loc: Location, wanted: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Write again the pages that patches on record have; yield id and the patch."""
    open_ = {object_id for object_id, kind in wanted.items() if kind in {"blob", "unknown"}}
    for plan_id in evidence_read.find_ids(loc, "gradients", "") if open_ else ():
        if not open_:
            return
        try:
            patches = evidence_read.patches(loc, plan_id)
            gradients = {name: read_patch(data, name) for name, data in patches.items()}
        except XpError:  # a patch that is lost too, or is none: it has nothing to give
            continue
        for name, gradient in gradients.items():
            for file in (gradient.before_file, gradient.after_file):
                if file and (blob := blob_id(file.content)) in open_:
                    open_.discard(put(loc.repo, "blob", file.content.encode()))
                    yield blob, f"patch {name} of plan {plan_id[:12]}"


def from_records(loc: Location, wanted: Mapping[str, str], tips: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Write again the folders of plan commits, from those before or after them; yield id and the plan."""
    trees_ = {object_id for object_id, kind in wanted.items() if kind != "blob"}
    for commit_id in _without_pages(loc, tips) if trees_ else ():
        commit = loc.repo.commit(commit_id)
        parents = [loc.repo.commit(parent).tree for parent in commit.parents]
        for plan_id in plan_ids(commit.message) if len(parents) == 1 else ():
            ways = ((parents[0], commit.tree, False), (commit.tree, parents[0], True))
            for before, after, is_undone in ways:
                for made in _landed(loc, plan_id, before, after, is_undone=is_undone):
                    if made.id in trees_:
                        trees_.discard(put(loc.repo, made.kind, made.data))
                        yield made.id, f"the record of plan {plan_id[:12]}"


def _without_pages(loc: Location, tips: Sequence[str]) -> list[str]:
    """Return the commits, oldest first, that cannot tell their pages, and those that follow on them."""
    done = gitcli.attempt(loc.repo.place, ["rev-list", "--reverse", "--topo-order", "--parents", *tips])
    rows = [line.split() for line in done.out.decode().splitlines()]
    folder = loc.in_tree(layout.EXPERIENCES)
    asked = "".join(f"{row[0]}:{folder}\n" for row in rows).encode("utf-8", "surrogateescape")
    told = gitcli.attempt(loc.repo.place, ["cat-file", "--batch-check"], stdin=asked).out.splitlines()
    without = {row[0] for row, line in zip(rows, told, strict=False) if line.endswith(b" missing")}
    return [commit for commit, *parents in rows if not without.isdisjoint((commit, *parents))]


def _landed(
    loc: Location, plan_id: str, before: str, after: str, *, is_undone: bool
) -> tuple[objects.GitObject, ...]:
    """Return the objects that a plan, or undoing it, adds to a tree; none where that is not `after`."""
    try:
        for record in evidence_read.records(loc, plan_id).values():
            items = record["items"]
            found = [i for i in items if isinstance(i, dict)] if isinstance(items, list) else []
            folder, side = loc.in_tree(layout.EXPERIENCES), "base_blob" if is_undone else "result_blob"
            changes = {f"{folder}/{i['target_experience_name']}.md": _page(loc, str(i[side])) for i in found}
            made = trees.splice(loc.repo.read_tree, before, changes)
            if made.tree == after:
                return made.objects
    except (XpError, KeyError):  # something it needs is lost too, or it is no record
        return ()
    return ()


def _page(loc: Location, blob: str) -> bytes | None:
    return None if blob == blob_id(None) else loc.repo.blob(blob)
