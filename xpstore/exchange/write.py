"""Write an export without losing anything: what a person wrote or changed is in the way, not written over."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore.errors import RefusedError, UsageError
from xpstore.exchange import agents_file, skills
from xpstore.exchange.formats import FOLDERS
from xpstore.exchange.stamp import is_intact

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.exchange.bundle import Bundle
    from xpstore.exchange.formats import Format


@dataclass(frozen=True, slots=True)
class Changes:
    """What writing a bundle does to a folder or file."""

    written: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """Skills of this store that it has no more."""


def write(made: Bundle, target: Path, store: str, *, force: bool = False, dry_run: bool = False) -> Changes:
    """Write a bundle to a folder or file, each file whole or not at all; say what changed.

    Before anything is written all of it is checked. Raises RefusedError where a file is in the way that no
    export of this store has written, or that a person has changed since (not with `force`), and for links;
    UsageError where the place cannot be read or written.
    """
    try:
        if made.form not in FOLDERS:
            return _write_file(made, target, store, force=force, dry_run=dry_run)
        return _write_folder(made, target, store, force=force, dry_run=dry_run)
    except OSError as error:
        raise UsageError(
            f"cannot write {error.filename or target}: {error.strerror or error}", hint="choose another place"
        ) from error
    except UnicodeDecodeError as error:
        raise RefusedError(f"{target} has a file that is not UTF-8", hint="nothing was written") from error


def _write_file(made: Bundle, target: Path, store: str, *, force: bool, dry_run: bool) -> Changes:
    before = _text(target)
    text = made.files[""]
    if made.form in {"agents-md", "claude-md"}:
        text = agents_file.placed(before or "", text, store, str(target), force=force)
    elif before is not None and before != text and not force and not _is_export(before, store):
        raise RefusedError(f"{target} is there already, and no export", hint="--force writes over it")
    if before == text:
        return Changes(unchanged=(str(target),))
    if not dry_run:
        _put(target, text)
    return Changes(written=(str(target),))


def _is_export(text: str, store: str) -> bool:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("store") == store


def _write_folder(made: Bundle, target: Path, store: str, *, force: bool, dry_run: bool) -> Changes:
    written, unchanged = [], []
    for path, text in made.files.items():
        _check_folders(target, path)
        before = _text(target / path)
        if before == text:
            unchanged.append(path)
            continue
        if before is not None and not force and not _is_ours(before, made.form, store):
            raise RefusedError(
                f"{target / path} is there already: it is no export of this store, or was changed by hand",
                hint="move it away, or --force writes over it",
            )
        written.append(path)
    removed = _stale(made, target, store) if made.form == "skills" else []
    if not dry_run:
        for path in written:
            _put(target / path, made.files[path])
        for path in removed:
            (target / path).unlink()
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
    return is_intact(text) and (form != "skills" or skills.store_of(text) == store)


def _stale(made: Bundle, target: Path, store: str) -> list[str]:
    """Return skills that an export of this store wrote, that nobody changed, and that it has no more."""
    found = sorted(target.glob(f"*/{skills.FILE}")) if target.is_dir() else []
    paths = {path.relative_to(target).as_posix(): path for path in found}
    return [
        name
        for name, path in paths.items()
        if name not in made.files
        and not path.parent.is_symlink()
        and len(list(path.parent.iterdir())) == 1
        and _is_ours(_text(path) or "", made.form, store)
    ]


def _text(path: Path) -> str | None:
    """Return what a file has, None where there is none. Raises RefusedError for a link or a folder."""
    if path.is_symlink():
        raise RefusedError(
            f"{path} is a symbolic link", hint="links are not followed: name what it points at"
        )
    if path.is_dir():
        raise RefusedError(f"{path} is a directory", hint="name a file")
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None


def _put(path: Path, text: str) -> None:
    """Write a file whole: what was there stays until the new one is on the disk."""
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
