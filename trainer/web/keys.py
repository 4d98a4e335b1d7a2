"""API keys: who calls, and for which store.

A key is 256 random bits. Only its SHA-256 is kept, in a file that its owner alone may read (0600):

    {"version": 1, "keys": [{"name": "desk", "sha256": "…", "store": "/path/of/a/store"}]}

A digest without salt is enough: nobody can try 2^256 keys. Keys are sent as `X-API-Key: KEY` or
`Authorization: Bearer KEY` and compared in constant time. The file is read again when it changes: a key that
was dropped stops working at once.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.web.problem import WebError
from xpstore.durable import sync
from xpstore.errors import FormatError, NotFoundError, RepositoryError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

VERSION = 1
PREFIX = "xp_"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: the name of the key, and the store that it is for ("" = the one that is served)."""

    name: str
    store: str = ""


ANYBODY = Caller("default")
"""Who calls where no keys are asked for."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key, as it is kept."""

    name: str
    sha256: str
    store: str = ""


class KeyFile:
    """The keys of one service, in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> tuple[Key, ...]:
        """Return the keys; none where there is no file. Raises FormatError, RepositoryError."""
        try:
            text = self.path.read_text("utf-8")
        except FileNotFoundError:
            return ()
        except UnicodeDecodeError as error:
            raise self._unreadable("it is not UTF-8") from error
        except OSError as error:
            raise self._failed("read", error) from error
        return self._parsed(text)

    def stamp(self) -> tuple[int, int, int] | None:
        """Return what changes when the file does."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def add(self, name: str, store: str = "") -> str:
        """Make a key and return it: it cannot be had again. Raises UsageError where the name is taken."""
        key = PREFIX + secrets.token_urlsafe(32)
        with self._changing() as keys:
            self.check_new(name)
            self._write([*keys, Key(name, digest(key.encode()), store)])
        return key

    def check_new(self, name: str) -> None:
        """Raise UsageError where no key can be made with this name."""
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name!r} is no name for a key", hint="use a-z, 0-9, - and _, at most 64")
        if any(known.name == name for known in self.read()):
            raise UsageError(f"there is a key named '{name}'", hint="drop it first, or choose another name")

    def drop(self, name: str, *, dry_run: bool = False) -> None:
        """Take a key away; with `dry_run` see whether it is there. Raises NotFoundError."""
        with self._changing() as keys:
            left = [key for key in keys if key.name != name]
            if len(left) == len(keys):
                raise NotFoundError(f"there is no key named '{name}'", hint="`xp serve key list` names them")
            if not dry_run:
                self._write(left)

    @contextmanager
    def _changing(self) -> Iterator[tuple[Key, ...]]:
        """Let nobody else change the file meanwhile."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(f"{self._target}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._failed("write", error) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield self.read()
        finally:
            os.close(handle)

    @property
    def _target(self) -> Path:
        """The file behind a link: putting another one in the link's place would leave dropped keys there."""
        return Path(os.path.realpath(self.path))

    def _write(self, keys: Iterable[Key]) -> None:
        text = json.dumps({"version": VERSION, "keys": [asdict(key) for key in keys]}, indent=1) + "\n"
        target = self._target
        draft = target.with_name(f"{target.name}.{secrets.token_hex(4)}.draft")
        try:
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                with open(handle, "w", encoding="utf-8") as out:  # noqa: PTH123  # the handle has the mode
                    out.write(text)
                sync([str(draft)])
                draft.replace(target)
                sync([str(target.parent)])
            except BaseException:
                draft.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise self._failed("write", error) from error

    def _parsed(self, text: str) -> tuple[Key, ...]:
        try:
            value = json.loads(text)
            if value["version"] != VERSION:
                raise self._unreadable(f"it has version {value['version']!r}, this is {VERSION}")
            keys = tuple(Key(**row) for row in value["keys"])
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise self._unreadable("it is not as `xp serve key add` writes it") from error
        for key in keys:
            texts = (key.name, key.sha256, key.store)
            if not all(isinstance(text, str) for text in texts) or not _DIGEST.fullmatch(key.sha256):
                raise self._unreadable("it is not as `xp serve key add` writes it")
        return keys

    def _unreadable(self, why: str) -> FormatError:
        return FormatError(f"the keys in {self.path} cannot be read: {why}", hint="restore it, or remove it")

    def _failed(self, what: str, error: OSError) -> RepositoryError:
        why = error.strerror or error
        return RepositoryError(f"cannot {what} {self.path}: {why}", hint="check permissions and free space")


class Access:
    """Who may call: whoever has a key. Belongs to one event loop."""

    def __init__(self, file: KeyFile) -> None:
        """Read the keys. Raises FormatError, RepositoryError."""
        self._file = file
        self._stamp = file.stamp()
        self._keys = file.read()

    def caller(self, header: Callable[[str], str]) -> Caller:
        """Return who calls by the headers of a request (`header(name)`, "" = none).

        Raises WebError (401); RepositoryError while the keys cannot be read, which lets nobody in.
        """
        sent = header("x-api-key") or _bearer(header("authorization"))
        if not sent:
            raise _unknown("a key is needed", "send it as X-API-Key: KEY or Authorization: Bearer KEY")
        given = digest(sent.encode("utf-8", "surrogateescape"))
        found = None
        for key in self._current():
            if hmac.compare_digest(key.sha256, given):  # and on: the time tells nothing
                found = Caller(key.name, key.store)
        if found is None:
            raise _unknown("this key is not known", "`xp serve key list` names those that are")
        return found

    def _current(self) -> tuple[Key, ...]:
        """Return the keys as they are now. Raises RepositoryError: what ails the file, its log says alone."""
        stamp = self._file.stamp()
        if stamp != self._stamp:
            try:
                self._keys, self._stamp = self._file.read(), stamp
            except FormatError as error:
                raise RepositoryError(error.message, hint=error.hint) from error
        return self._keys


def digest(key: bytes) -> str:
    """Return what is kept of a key."""
    return hashlib.sha256(key).hexdigest()


def _bearer(header: str) -> str:
    scheme, _, key = header.strip().partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def _unknown(message: str, hint: str) -> WebError:
    return WebError(401, message, hint=hint, headers={"WWW-Authenticate": 'Bearer realm="xp"'})
