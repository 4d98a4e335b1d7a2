"""What is derived from the repository and kept beside it, to spare a new process the work.

All of it lies in one folder of the git directory, is never in a working tree, a clone or a push, and may be
deleted at any time. It is never trusted blindly: a file that is damaged, cut off or of another version is
the same as none. Where it cannot be written (read-only, a full disk) everything works without it, slower.

Bounded: nothing stays that is not in the last snapshot, but for the few pages that are not worth writing
20 MB. Never longer than git: a page that the repository no longer has is taken out by the next snapshot or
search; `xp forget` deletes all of it, and so does `xp maintain`.
"""

from __future__ import annotations

import json
import mmap
import shutil
import time
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from xpstore.git import Repo

FOLDER = "xpstore.cache"
ANSWERS = "xpstore.answers"
"""The folder of what models have answered: paid for, and so not deleted with the rest."""
BUFFER = 1 << 20
ABANDONED = 60.0
"""Seconds after which a draft has no writer any more."""


def path(repo: Repo, name: str) -> Path:
    """Return where the derived file of this name is, or would be."""
    return repo.common_dir / FOLDER / name


def read(repo: Repo, name: str, head: Mapping[str, object]) -> memoryview | None:
    """Return what was written under this name and head; None where that is not there, whole."""
    try:
        with path(repo, name).open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)  # no copy: it may be long
    except (OSError, ValueError):  # ValueError: it is empty
        return None
    end = data.rfind(b"\n") + 1
    body = memoryview(data)[: max(end - 1, 0)]
    return body if data[end:] == _tail(head, len(body), zlib.crc32(body)) else None


def write(repo: Repo, name: str, head: Mapping[str, object], parts: Iterable[bytes]) -> bool:
    """Put a file there, its parts one after the other, whole or not at all; return whether that was done.

    Of two processes that write at once, one does and the other leaves it.
    """
    target = path(repo, name)
    draft = target.with_name(f"{name}.draft")
    try:
        target.parent.mkdir(exist_ok=True)
        _clear(draft)
        with draft.open("xb", BUFFER) as out:
            try:
                size = checksum = 0
                for part in parts:
                    size, checksum = size + len(part), zlib.crc32(part, checksum)
                    out.write(part)
                out.write(b"\n" + _tail(head, size, checksum))
                out.flush()
                draft.replace(target)
            except BaseException:
                draft.unlink(missing_ok=True)
                raise
    except OSError:
        return False
    return True


def drop(repo: Repo) -> None:
    """Delete everything that is derived; what cannot be deleted stays."""
    shutil.rmtree(repo.common_dir / FOLDER, ignore_errors=True)


def answers(repo: Repo) -> Path:
    """Return the folder of the answers on record, which may not be there."""
    return repo.common_dir / ANSWERS


def forget_answers(repo: Repo) -> None:
    """Delete all answers on record: one may quote what is to be forgotten. Raises OSError where one stays."""
    folder = answers(repo)
    going = folder.with_suffix(".going")
    with suppress(FileNotFoundError):
        shutil.rmtree(going)  # an interrupted run has left it
    with suppress(FileNotFoundError):
        folder.rename(going)  # nobody writes into it any more
        shutil.rmtree(going)


def _tail(head: Mapping[str, object], size: int, checksum: int) -> bytes:
    """Return the last line of a file: what it is, and the checksum of the rest."""
    return json.dumps({**head, "size": size, "crc32": checksum}, sort_keys=True).encode()


def _clear(draft: Path) -> None:
    """Remove the draft of a writer that was killed."""
    with suppress(FileNotFoundError):
        if time.time() - draft.stat().st_mtime > ABANDONED:
            draft.unlink()
