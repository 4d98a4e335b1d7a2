"""Working trees that have a branch checked out follow when the branch moves.

`git read-tree -m -u old new` takes the index lock first, then checks that no local change is in the
way, and only then writes; libgit2's checkout writes files before it takes that lock and strands them.
So: the working tree first, the ref last, both under the lock of the ref.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from hashlib import sha1
from itertools import repeat
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from xpstore import gitcli
from xpstore.errors import RefusedError, RepositoryError
from xpstore.git import Busy, Repo
from xpstore.objects import EMPTY_TREE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from xpstore.gitcli import Ran

FILTER_OFF = (("process", ""), ("clean", ""), ("smudge", ""), ("required", "false"))
IN_THE_WAY = ("not uptodate", "would be overwritten", "would be removed", "unmerged")


def checked_out(repo: Repo, ref: str) -> list[Path]:
    """Return the working trees, main and linked, whose HEAD is the branch `ref`."""
    return by_branch(repo).get(ref, [])


def by_branch(repo: Repo) -> dict[str, list[Path]]:
    """Return the branches that are checked out, by their full names, and the working trees that have them."""
    found: dict[str, list[Path]] = {}
    main = repo if repo.git_dir == repo.common_dir else Repo.discover(repo.common_dir)
    if main and main.workdir:
        found[head_of(repo.common_dir)] = [main.workdir]
    linked = repo.common_dir / "worktrees"
    try:
        names = sorted(os.listdir(linked))  # noqa: PTH208 - names are enough
    except (FileNotFoundError, NotADirectoryError):
        return found
    for name in names:
        try:
            there = os.fsdecode((linked / name / "gitdir").read_bytes().removesuffix(b"\n"))
            folder = (linked / name / there).parent
        except (FileNotFoundError, NotADirectoryError):
            continue
        if folder.is_dir():
            found.setdefault(head_of(linked / name), []).append(folder)
    return found


def head_of(git_dir: Path) -> str:
    """Return the branch, by its full name, or the commit that HEAD is at; "" where there is no HEAD."""
    try:
        handle = os.open(f"{git_dir}/HEAD", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    try:
        text = os.read(handle, 4096).decode("utf-8", "surrogateescape")
    finally:
        os.close(handle)
    return text.strip().removeprefix("ref: ")


def follow(places: Sequence[Path], old: str | None, new: str) -> None:
    """Bring index and files of these working trees from commit `old` to `new`; local changes stay.

    Raises RefusedError where a local change is in the way and Busy where the index is locked; in both
    cases none of the working trees has changed.
    """
    if len(places) > 1:
        check(places, old, new)
    for number, place in enumerate(places):
        try:
            _read_tree(place, old, new)
        except (Busy, RefusedError):
            step_back(places[:number], new, old)
            raise


def check(places: Iterable[Path], old: str | None, new: str) -> None:
    """Raise what `follow` would raise, and change nothing."""
    for place in places:
        _read_tree(place, old, new, dry_run=True)


def step_back(places: Sequence[Path], new: str, old: str | None) -> None:
    """Undo `follow` for a writer that was killed before the branch moved; harmless where it did not run.

    Raises Busy where the index is locked, perhaps by the killed writer's last git process. A local change
    made since is left alone, with the file it is in.
    """
    old = old or EMPTY_TREE
    for place in places:
        tokens = gitcli.records(gitcli.run(place, ["diff-tree", "-r", "-z", "--no-renames", old, new]))
        blobs = {path: entry.split(" ")[2:4] for entry, path in zip(tokens[::2], tokens[1::2], strict=True)}
        staged = gitcli.attempt(place, ["diff-index", "--cached", "--quiet", old, "--", *blobs])
        try:
            if staged.code:
                _read_tree(place, new, old)
        except RefusedError:
            continue
        _take_back(place, blobs)


def clear_index_locks(places: Iterable[Path], older_than: float) -> None:
    """Remove the index locks of killed git processes, so many seconds old: git never does, and stops at them.

    A lock that is a whole index stays, for git leaves it so while an editor is open, and so does one that any
    process has open, or may have: where the system does not tell, or it is another user's.
    """
    for place in places:
        repo = Repo.discover(place)
        file = repo.git_dir / "index.lock" if repo else place
        try:
            found = file.stat()
            if time.time() - found.st_mtime < older_than or found.st_uid != os.getuid() or _is_index(file):
                continue
        except OSError:
            continue
        if not _may_be_open(file):
            file.unlink(missing_ok=True)


def _is_index(file: Path) -> bool:
    data = file.read_bytes()
    return data[:4] == b"DIRC" and data[-20:] in {sha1(data[:-20], usedforsecurity=False).digest(), bytes(20)}


def _may_be_open(file: Path) -> bool:
    """Return whether a process of this user has the file open; True where the system does not say."""
    target, processes = str(file.resolve()), Path("/proc")
    if not (processes / "self" / "fd").is_dir():
        return True
    for opened in processes.glob("[0-9]*/fd"):
        with suppress(OSError):  # it ended meanwhile, or is another user's
            if any(_target(handle) == target for handle in opened.iterdir()):
                return True
    return False


def _target(handle: Path) -> str:
    try:
        return str(handle.readlink())
    except OSError:  # closed meanwhile
        return ""


def has_changes(place: Path, path: str) -> bool:
    """Say whether anything at a path is not committed; runs no filter program and writes nothing."""
    env = _without_filters(place) | {"GIT_OPTIONAL_LOCKS": "0"}
    return bool(gitcli.run(place, ["status", "--porcelain", "--", path], env=env).strip())


def _take_back(place: Path, blobs: Mapping[str, Sequence[str]]) -> None:
    """Undo what git wrote, or began to write, before it could not write its index: it writes that last.

    `blobs`: path → blob before and after; the index has the ones before.
    """
    back: list[str] = []
    for path, (before, after) in blobs.items():
        file = place / path
        there = file.read_bytes().replace(b"\r\n", b"\n") if file.is_file() else None
        written = gitcli.run(place, ["cat-file", "blob", after]) if after.strip("0") else b""
        if file.is_symlink() or (there is not None and not written.startswith(there)):
            continue  # as it was, or changed by somebody since
        if before.strip("0"):
            back.append(path)
        else:
            file.unlink(missing_ok=True)
    if back:
        paths = "\0".join(back).encode("utf-8", "surrogateescape")
        command = ["checkout-index", "-q", "-f", "-z", "--stdin"]
        gitcli.run(place, command, stdin=paths, env=_without_filters(place))


def _spare_local(place: Path, old: str, new: str) -> None:
    """Refuse to write over what read-tree takes for worthless: an ignored file, a link for a folder."""
    out = gitcli.run(place, ["diff-tree", "-r", "-z", "--name-status", "--no-renames", old, new])
    tokens = gitcli.records(out)
    changes = list(zip(tokens[1::2], tokens[::2], strict=True))
    folders = {folder for path, _ in changes for folder in PurePosixPath(path).parents}
    links = [str(folder) for folder in sorted(folders) if (place / folder).is_symlink()]
    added = [path for path, status in changes if status == "A"]
    there = [path for path in map(_blocker, added, repeat(place)) if path]
    tracked = gitcli.run(place, ["ls-files", "-z", "--full-name", "--", *there]) if there else b""
    for path in (*links, *sorted({*there} - {*gitcli.records(tracked)})):
        raise RefusedError(
            f"local file {path} in {place} is in the way",
            hint="move it, then run this again; nothing was changed",
        )


def _blocker(path: str, place: Path) -> str:
    """Return the path, or its first parent that is no directory, if there is something on disk; else ""."""
    parts = path.split("/")
    for length in range(1, len(parts) + 1):
        at = "/".join(parts[:length])
        if not os.path.lexists(place / at):
            return ""
        if length == len(parts) or not (place / at).is_dir() or (place / at).is_symlink():
            return at
    return ""


def _without_filters(place: Path) -> dict[str, str]:
    """Return the environment in which git runs no filter program, whatever the repository came with.

    The store writes files as they are, so its own files need none.
    """
    keys = gitcli.attempt(place, ["config", "-z", "--name-only", "--get-regexp", r"^filter\."]).out
    drivers = sorted({key.rpartition(".")[0] for key in gitcli.records(keys)})
    off = [(f"{d}.{key}", value) for d in drivers for key, value in FILTER_OFF]
    env = {"GIT_CONFIG_COUNT": str(len(off))}
    for number, (key, value) in enumerate(off):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return env


def _read_tree(place: Path, old: str | None, new: str, *, dry_run: bool = False) -> None:
    _spare_local(place, old or EMPTY_TREE, new)
    command = ["read-tree", *(["-n"] if dry_run else []), "-m", "-u", old or EMPTY_TREE, new]
    env = _without_filters(place)
    done = gitcli.attempt(place, command, env=env)
    if done.code and "not uptodate" in done.err:  # perhaps only touched: compare contents, then ask again
        refreshed = gitcli.attempt(place, ["update-index", "-q", "--refresh"], env=env)
        if "nable to write" in refreshed.err:
            raise _failed(place, refreshed)
        if refreshed.code and not refreshed.err:  # so quiet is it where another git has the index
            raise Busy(f"the index of {place} is locked")
        done = gitcli.attempt(place, command, env=env)
    if not done.code:
        return
    if "index.lock': File exists" in done.err:  # not: it cannot be written
        raise Busy(done.err)
    if any(words in done.err for words in IN_THE_WAY):
        raise RefusedError(
            f"local changes in {place} are in the way: {done.err.splitlines()[0].removeprefix('error: ')}",
            hint="commit, stash or move them, then run this again; nothing was changed",
        )
    raise _failed(place, done)


def _failed(place: Path, done: Ran) -> RepositoryError:
    return RepositoryError(
        f"cannot update the files in {place}: {gitcli.first(done)}", hint="check free space and permissions"
    )
