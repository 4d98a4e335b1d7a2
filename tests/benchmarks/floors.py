"""What writing the same objects costs at least, and what other programs need for one visible commit."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from xpstore.pack import deflated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from xpstore.objects import GitObject


class Floor:
    """Objects hashed, deflated as the store does it and written, then two refs replaced; nothing else."""

    def __init__(self, path: Path, *, durable: bool) -> None:
        self._path = path
        self._durable = durable
        self._number = 0
        for shard in range(256):
            (path / f"{shard:02x}").mkdir(parents=True)

    def loose(self, objects: Sequence[GitObject]) -> None:
        """Write one file per object."""
        for item in objects:
            data = b"%s %d\0%s" % (item.kind.encode(), len(item.data), item.data)
            name = hashlib.sha1(data, usedforsecurity=False).hexdigest()
            self._replace(f"{name[:2]}/{name[2:]}", deflated(data, item.kind))
        self._refs()

    def packed(self, objects: Sequence[GitObject]) -> None:
        """Write one file for all objects; no index."""
        parts = []
        for item in objects:
            data = b"%s %d\0%s" % (item.kind.encode(), len(item.data), item.data)
            parts.append(hashlib.sha1(data, usedforsecurity=False).digest() + deflated(item.data, item.kind))
        self._number += 1
        self._replace(f"pack-{self._number}", b"".join(parts))
        self._refs()

    def _refs(self) -> None:
        for ref in ("main", "evidence"):
            self._replace(ref, b"%040x\n" % self._number)

    def _replace(self, name: str, data: bytes) -> None:
        path = f"{self._path}/{name}"
        handle = os.open(f"{path}.lock", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        os.write(handle, data)
        if self._durable:
            os.fsync(handle)
        os.close(handle)
        os.rename(f"{path}.lock", path)  # noqa: PTH104 - a floor takes the shortest way


Texts = dict[str, str]
"""Path in the repository → text: what one commit writes."""
Writer = Callable[[Texts], None]


@contextmanager
def plumbing(repo: Path, *, durable: bool) -> Iterator[Writer]:
    """Yield a writer of commits that starts one git process per step, as scripts do."""
    fsync = ["-c", "core.fsync=all"] if durable else []

    def run(*args: str, stdin: bytes = b"") -> str:
        done = subprocess.run(["git", *fsync, *args], cwd=repo, input=stdin, capture_output=True, check=True)
        return done.stdout.decode().rstrip("\n")

    def write(texts: Texts) -> None:
        tip = run("rev-parse", "refs/heads/main")
        blobs = {p: run("hash-object", "-w", "--stdin", stdin=t.encode()) for p, t in texts.items()}
        entries = _lines(run("ls-tree", f"{tip}:experiences"))
        entries |= {path.rpartition("/")[2]: f"100644 blob {blob}" for path, blob in blobs.items()}
        folder = run("mktree", stdin=_listing(entries))
        root = _lines(run("ls-tree", tip)) | {"experiences": f"040000 tree {folder}"}
        commit = run("commit-tree", run("mktree", stdin=_listing(root)), "-p", tip, "-m", "Teach")
        run("update-ref", "refs/heads/main", commit, tip)

    yield write


def _lines(listing: str) -> dict[str, str]:
    return {name: head for head, _, name in (line.partition("\t") for line in listing.split("\n"))}


def _listing(entries: Mapping[str, str]) -> bytes:
    return "".join(f"{head}\t{name}\n" for name, head in entries.items()).encode()


@contextmanager
def gitpython(repo: Path, *, durable: bool) -> Iterator[Writer | None]:
    """Yield a writer of commits through GitPython's index; None where it is not installed."""
    try:
        import git
    except ImportError:
        yield None
        return
    del durable  # it has no such setting
    opened = git.Repo(repo)

    def write(texts: Texts) -> None:
        for path, text in texts.items():
            (repo / path).write_text(text, "utf-8")
        opened.index.add(list(texts))
        opened.index.commit("Teach", skip_hooks=True)

    with closing(opened):
        yield write


@contextmanager
def dulwich(repo: Path, *, durable: bool) -> Iterator[Writer | None]:
    """Yield a writer of commits through dulwich's objects; None where it is not installed."""
    try:
        from dulwich.objects import Blob, Commit
        from dulwich.repo import Repo
    except ImportError:
        yield None
        return
    opened = Repo(str(repo))
    opened.object_store.fsync_object_files = durable
    store = opened.object_store
    ref = b"refs/heads/main"

    def write(texts: Texts) -> None:
        tip = opened.refs[ref]
        root = store[store[tip].tree]
        folder = store[root[b"experiences"][1]]
        for path, text in texts.items():
            blob = Blob.from_string(text.encode())
            store.add_object(blob)
            folder.add(path.rpartition("/")[2].encode(), 0o100644, blob.id)
        store.add_object(folder)
        root.add(b"experiences", 0o040000, folder.id)
        store.add_object(root)
        made = Commit()
        made.tree, made.parents = root.id, [tip]
        made.author = made.committer = b"Pat <pat@example.org>"
        made.commit_time = made.author_time = 1_700_000_000
        made.commit_timezone = made.author_timezone = 0
        made.message = b"Teach\n"
        store.add_object(made)
        assert opened.refs.set_if_equals(ref, tip, made.id)

    with closing(opened):
        yield write
