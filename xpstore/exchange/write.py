"""Write an export without losing anything: what a person wrote or changed is in the way, not written over."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore.errors import RefusedError, UsageError, XpError
from xpstore.exchange import agents_file, openviking, skills
from xpstore.exchange.bundle import JSON_STAMP
from xpstore.exchange.formats import FOLDERS
from xpstore.exchange.stamp import is_intact
from xpstore.snapshot import SUFFIX
from xpstore.source import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from xpstore.exchange.bundle import Bundle
    from xpstore.exchange.formats import Format


@dataclass(frozen=True, slots=True)
class Changes:
    """What writing a bundle does to a folder or file."""

    written: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """Files of this store's experiences that it has no more."""


def write(made: Bundle, target: Path, store: str, *, force: bool = False, dry_run: bool = False) -> Changes:
    """Write a bundle to a folder or file, each file whole or not at all; say what changed.

    Before anything is written all of it is checked. Raises RefusedError where a file is in the way that no
    export of this store has written, or that a person has changed since (not with `force`), and for links;
    UsageError where the place cannot be read or written. Of several who write to one place at once, each
    waits for the one before.
    """
    try:
        with _alone(target if made.form in FOLDERS else target.parent):
            if made.form not in FOLDERS:
                return _write_file(made, target, store, force=force, dry_run=dry_run)
            return _write_folder(made, target, store, force=force, dry_run=dry_run)
    except OSError as error:
        raise UsageError(
            f"cannot write {error.filename or target}: {error.strerror or error}", hint="choose another place"
        ) from error


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Hold a folder, or the nearest one above it that is there: a block is put into what was read before."""
    while not place.is_dir():
        place = place.parent
    handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _write_file(made: Bundle, target: Path, store: str, *, force: bool, dry_run: bool) -> Changes:
    before = _text(target)
    text = made.files[""]
    if made.form in {"agents-md", "claude-md"}:
        text = agents_file.placed(before or "", text, store, str(target), force=force)
    elif before is not None and before != text and not force and not _is_ours(before, made.form, store):
        raise _in_the_way(target)
    if before == text:
        return Changes(unchanged=(str(target),))
    if not dry_run:
        _put(target, text)
    return Changes(written=(str(target),))


def _in_the_way(path: Path) -> RefusedError:
    return RefusedError(
        f"{path} is there already: it is no export of this store, or was changed by hand",
        hint="move it away, or --force writes over it",
    )


def _write_folder(made: Bundle, target: Path, store: str, *, force: bool, dry_run: bool) -> Changes:
    written, unchanged = [], []
    for path, text in made.files.items():
        _check_folders(target, path)
        before = _text(target / path)
        if before == text:
            unchanged.append(path)
            continue
        if before is not None and not force and not _is_ours(before, made.form, store):
            raise _in_the_way(target / path)
        written.append(path)
    removed = _stale(made, target, store)
    if not dry_run:
        for path in written:
            _put(target / path, made.files[path])
        for path in removed:
            (target / path).unlink()
            if made.form == "skills":
                (target / path).parent.rmdir()
    return Changes(tuple(written), tuple(unchanged), tuple(removed))


def _check_folders(target: Path, path: str) -> None:
    """Raise RefusedError for a folder below the target that is a link: it may lead anywhere."""
    for folder in (target / path).parents:
        if folder == target:
            return
        if folder.is_symlink():
            raise RefusedError(f"{folder} is a symbolic link", hint="links are not followed: move it away")


def _is_ours(text: str, form: Format, store: str) -> bool:
    """Say whether an export of this store wrote the text, and nobody has changed it."""
    if form == "skills":
        return is_intact(text, skills.STAMP) and skills.store_of(text) == store
    if form == "openviking":
        return is_intact(text, openviking.STAMP) and openviking.store_of(text) == store
    return is_intact(text, JSON_STAMP) and json.loads(text)["store"] == store


def _stale(made: Bundle, target: Path, store: str) -> list[str]:
    """Return files that an export of this store wrote, that nobody changed, and whose page it has no more."""
    below = f"*/{skills.FILE}" if made.form == "skills" else f"*{SUFFIX}"
    found = sorted(target.glob(below)) if target.is_dir() else []
    return [
        path.relative_to(target).as_posix()
        for path in found
        if path.relative_to(target).as_posix() not in made.files and _is_left(path, made.form, store)
    ]


def _is_left(path: Path, form: Format, store: str) -> bool:
    """Say whether a file is ours to remove: what is somebody else's may be anything, and is no error."""
    try:
        if form == "skills" and (path.parent.is_symlink() or len(list(path.parent.iterdir())) > 1):
            return False
        return _is_ours(read_text(path), form, store)
    except (XpError, OSError):
        return False


def _text(path: Path) -> str | None:
    """Return what a file has, None where there is none. Raises as `read_text`; RefusedError for a folder."""
    if path.is_dir() and not path.is_symlink():
        raise RefusedError(f"{path} is a directory", hint="name a file")
    return read_text(path) if os.path.lexists(path) else None


def _put(path: Path, text: str) -> None:
    """Write a file whole: what was there stays until the new one is on the disk."""
    is_new = not path.parent.is_dir()
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else None
    beside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}")
    try:
        with beside.open("xb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            beside.chmod(mode)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
        if is_new and not path.exists():
            path.parent.rmdir()
