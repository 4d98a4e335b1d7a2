"""Who waits for the store lock says what for, and whoever has it may do that along with its own.

Eight processes that write to one branch would each build on a tip that the next one moves. Instead, one that
finds the lock taken puts down what it wants and waits. The holder, when its turn begins, takes what lies
there into its own group of commits: one pack, one sync, one move of the branch for all of them. It answers
before it lets go of the lock, so whoever gets it next knows first whether anything is left to be done.

    <git directory>/xpstore.waiting/<random>.ask      locked by its owner as long as it waits
    <git directory>/xpstore.waiting/<random>.answer

Nothing depends on these files. A question whose owner is gone is nobody's and is removed; without an answer
the owner does its own work and finds, as after any lost race, what has landed already. They are data and are
checked like any other, for a repository may come from anywhere.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from xpstore import lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER = "xpstore.waiting"
MANY = 32
"""Questions that are answered along with one's own at a time; all of them wait for each other."""
LONG = 1 << 20
"""Bytes of the longest question: what is longer takes its time, and is for its owner alone."""
ASK, ANSWER, DRAFT = ".ask", ".answer", ".draft"
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe may lie there
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Asked:
    """What another one waits for."""

    data: bytes
    _stem: str

    def answer(self, data: bytes) -> None:
        """Say that it is done; the store lock is held. Where the disk says no, its owner finds out."""
        with suppress(OSError):
            _put(f"{self._stem}{DRAFT}", data)
            os.rename(f"{self._stem}{DRAFT}", f"{self._stem}{ANSWER}")  # noqa: PTH104 - paths as text, see pack


@dataclass(frozen=True, slots=True)
class Turn:
    """The store lock is held."""

    answer: bytes | None
    """What another one did for this one meanwhile."""
    _folder: str

    def others(self) -> Iterator[Asked]:
        """Yield what others wait for, also those who come meanwhile; clean up behind those who are gone."""
        seen: set[str] = set()
        new = True
        while new:
            new = False
            for stem, endings in self._listing().items():
                if len(seen) == MANY:
                    return
                data = b"" if stem in seen else _read_live(f"{self._folder}/{stem}")
                if data and ANSWER not in endings:
                    seen.add(stem)
                    new = True
                    yield Asked(data, f"{self._folder}/{stem}")

    def _listing(self) -> dict[str, set[str]]:
        """Return the endings of the files that there are, by what stands before."""
        found: dict[str, set[str]] = {}
        with suppress(OSError):  # nobody has ever waited here
            for name in sorted(os.listdir(self._folder)):  # noqa: PTH208
                stem, dot, ending = name.partition(".")
                found.setdefault(stem, set()).add(dot + ending)
        return found


@contextmanager
def turn(common_dir: Path, question: Callable[[], bytes]) -> Iterator[Turn]:
    """Hold the store lock; if it has to be waited for, put down what for.

    `question` is called in that case only; b"" = nobody else can do it.
    """
    folder = f"{common_dir}/{FOLDER}"
    with ExitStack() as stack:
        answer = None
        if not stack.enter_context(lock.store_lock(common_dir, wait=False)):
            with _asking(folder, question()) as stem:
                stack.enter_context(lock.store_lock(common_dir))
                answer = _answer(stem) if stem else None
        yield Turn(answer, folder)


@contextmanager
def _asking(folder: str, data: bytes) -> Iterator[str]:
    """Put a question down as long as the block runs; yield its path without the ending, or ""."""
    handle, stem = -1, f"{folder}/{os.urandom(12).hex()}"
    try:
        if data and len(data) <= LONG:
            with suppress(OSError):  # a full disk: it waits all the same
                Path(folder).mkdir(exist_ok=True)
                handle = os.open(f"{stem}{DRAFT}", NEW, 0o644)
                fcntl.flock(handle, fcntl.LOCK_EX)
                _write(handle, data)
                os.rename(f"{stem}{DRAFT}", f"{stem}{ASK}")  # noqa: PTH104
        yield stem if handle >= 0 else ""
    finally:
        if handle >= 0:
            for ending in (ASK, ANSWER, DRAFT):
                _remove(f"{stem}{ending}")
            os.close(handle)


def _answer(stem: str) -> bytes | None:
    try:
        with open(f"{stem}{ANSWER}", "rb") as stream:  # noqa: PTH123
            return stream.read()
    except OSError:
        return None


def _read_live(stem: str) -> bytes:
    """Return a question whose owner lives; b"" otherwise, and then nothing of it stays."""
    try:
        handle, is_whole = os.open(f"{stem}{ASK}", READ), True
    except OSError:
        try:
            handle, is_whole = os.open(f"{stem}{DRAFT}", READ), False
        except OSError:
            _remove(f"{stem}{ANSWER}")  # its owner has died while it was leaving
            return b""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.read(handle, LONG + 1) if is_whole else b""
    else:
        for ending in (ASK, ANSWER, DRAFT):
            _remove(f"{stem}{ending}")
        return b""
    finally:
        os.close(handle)


def _put(file: str, data: bytes) -> None:
    handle = os.open(file, NEW, 0o644)
    try:
        _write(handle, data)
    finally:
        os.close(handle)


def _write(handle: int, data: bytes) -> None:
    written = os.write(handle, data)
    while written < len(data):
        written += os.write(handle, memoryview(data)[written:])


def _remove(file: str) -> None:
    with suppress(OSError):  # gone already
        os.unlink(file)  # noqa: PTH108
