"""Where refs were: what reflogs, packed-refs and remotes tell of them after a loss of power.

Read as bytes, line by line as git writes them: a name or a message may have in it what else ends a line for
Python, and what follows on that must not pass for an entry.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

from xpstore import layout
from xpstore.errors import RepositoryError
from xpstore.loose import has_log, ref_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from xpstore.git import Repo

NOTHING = b"0" * 40
_ID = re.compile(rb"[0-9a-f]{40}")
_ENTRY = re.compile(rb"([0-9a-f]{40}) ([0-9a-f]{40}) [^>]*> (\d+) ")
_CHECKOUT = re.compile(rb"[^\t]*\tcheckout: moving from .* to (\S+)\n?\Z")
_PACKED = re.compile(rb"([0-9a-f]{40}) (refs/\S+)\n?")
_PEELED = re.compile(rb"\^[0-9a-f]{40}\n?")


def lines_of(file: Path) -> list[bytes]:
    """Return the lines of a file of git, each with its end; none where there is no file."""
    return io.BytesIO(file.read_bytes()).readlines() if file.is_file() else []


def ref_names(repo: Repo, prefix: str = "refs/") -> list[str]:
    """Return the names of all refs that are there, damaged or not, and of those that only a log knows."""
    logs = [n for n in ref_files(repo.common_dir / "logs", prefix) if has_log(repo.common_dir, n)]
    return sorted(n for n in {*repo.ref_names(prefix), *logs} if not n.endswith(("/HEAD", ".lock")))


def earlier(repo: Repo, ref: str) -> Iterator[tuple[str, int, str]]:
    """Yield the commits that a ref was at, newest first: id, since when (Unix time), who says so."""
    lines = lines_of((repo.git_dir if ref == "HEAD" else repo.common_dir) / "logs" / ref)
    for line in reversed(lines):
        if moved := _ENTRY.match(line):
            yield moved[2].decode(), int(moved[3]), "reflog"
    if lines and (first := _ID.match(lines[0])):
        yield first[0].decode(), 0, "reflog"
    if at := packed(repo).get(ref):
        yield at, 0, "packed-refs"
    if ref.startswith(layout.HEADS):
        for remote in repo.remotes:
            if seen := value(repo, f"{layout.REMOTES}{remote}/{ref.removeprefix(layout.HEADS)}"):
                yield seen, 0, f"remote {remote}"


def value(repo: Repo, ref: str) -> str | None:
    """Return where a ref is; None where it is not there, or damaged."""
    try:
        return repo.ref(ref)
    except RepositoryError:
        return None


def checked_out(repo: Repo) -> str | None:
    """Return the branch that the reflog of HEAD says was checked out last; None where it does not say."""
    moves = (_CHECKOUT.match(line) for line in reversed(lines_of(repo.git_dir / "logs" / "HEAD")))
    return next((move[1].decode("utf-8", "surrogateescape") for move in moves if move), None)


def branches(repo: Repo) -> set[str]:
    """Return the short names of the branches that a file, a reflog or packed-refs knows."""
    places = (repo.common_dir, repo.common_dir / "logs")
    refs = {*packed(repo), *(ref for place in places for ref in ref_files(place, layout.HEADS))}
    return {ref.removeprefix(layout.HEADS) for ref in refs if ref.startswith(layout.HEADS)}


def packed(repo: Repo) -> dict[str, str]:
    """Return the refs of packed-refs that can be read, and what they point at."""
    rows = map(_PACKED.fullmatch, lines_of(repo.common_dir / "packed-refs"))
    return {row[2].decode("utf-8", "surrogateescape"): row[1].decode() for row in rows if row}


def readable(lines: Sequence[bytes]) -> list[bytes]:
    """Return the lines of packed-refs that git can read; what a tag names goes with the line of the tag."""
    good: list[bytes] = []
    before = b""
    for line in lines:
        is_peeled = _PEELED.fullmatch(line) and _PACKED.fullmatch(before)
        if line.endswith(b"\n") and (is_peeled or line.startswith(b"#") or _PACKED.fullmatch(line)):
            good.append(line)
        before = line
    return good


def without(lines: Sequence[bytes], is_lost: Callable[[str], bool]) -> Iterator[bytes]:
    """Yield the entries of a reflog whose commits are there, each beginning where the one before it ends."""
    end = NOTHING
    for line in lines:
        old, new = line[:40], line[41:81]
        if is_lost(new.decode("ascii", "replace")):
            continue
        yield (end if is_lost(old.decode("ascii", "replace")) else old) + line[40:]
        end = new if _ID.fullmatch(new) else end
