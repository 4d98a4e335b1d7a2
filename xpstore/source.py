"""A folder of plain files that `xp init --from` makes a store of.

    xp.toml              settings; the new store gets an id of its own
    README.md            for people
    experiences/*.md     pages, as a plan could have written them
    cases/*.jsonl        suites: one JSON object per line

All of it is read and checked before anything is written. Links are refused, other files are left out.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from xpstore import guards, layout
from xpstore.config import StoreConfig, parse_template
from xpstore.errors import FormatError, LimitError, RefusedError, UsageError, XpError
from xpstore.names import check_name
from xpstore.page_check import check_page, located
from xpstore.snapshot import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from xpstore.settings import Limits

    Check = Callable[[str, bytes, str, Limits], None]

PARTS = (layout.CONFIG, layout.README, layout.EXPERIENCES, layout.CASES)
"""What a store's folder has, and all that is taken."""
SUITE_SUFFIX = ".jsonl"
FILE_LIMIT = 64 * 1024 * 1024
"""Bytes of one file. A suite is read whole, by whoever runs it too."""


@dataclass(frozen=True, slots=True)
class Source:
    """What such a folder has."""

    config: StoreConfig
    """The settings. Without an id of its own; see `parse_template`."""
    toml: str
    """The text of its xp.toml; "" where it has none."""
    files: dict[str, bytes]
    """Store path → bytes of everything else."""
    left_out: tuple[str, ...]
    """Files and folders that a store does not have, sorted; a folder ends in `/`."""

    @property
    def names(self) -> list[str]:
        """The experiences, sorted."""
        return self._below(layout.EXPERIENCES, SUFFIX)

    @property
    def suites(self) -> list[str]:
        """The suites of cases, sorted."""
        return self._below(layout.CASES, SUITE_SUFFIX)

    def _below(self, folder: str, suffix: str) -> list[str]:
        paths = (path for path in self.files if path.startswith(f"{folder}/"))
        return sorted(path.removeprefix(f"{folder}/").removesuffix(suffix) for path in paths)


def read_source(path: Path) -> Source:
    """Read and check such a folder.

    Raises a UsageError (FormatError, LimitError, InvalidNameError, …) or RefusedError that names the first
    file that no store may have.
    """
    there = listing(path)
    toml = read_text(path / layout.CONFIG) if layout.CONFIG in there else ""
    config = parse_template(toml, str(path / layout.CONFIG))
    files = {layout.README: _read(path / layout.README)} if layout.README in there else {}
    left_out = [name for name in there if name not in PARTS]
    suffixes: dict[str, tuple[str, Check]] = {
        layout.EXPERIENCES: (SUFFIX, check_page),
        layout.CASES: (SUITE_SUFFIX, _check_suite),
    }
    for folder, (suffix, check) in suffixes.items():
        for file in listing(path / folder) if folder in there else ():
            if file.endswith(suffix) and not file.startswith("."):
                name, data = _checked(path / folder / file, suffix, check, config.limits)
                if files.setdefault(f"{folder}/{name}{suffix}", data) is not data:
                    raise UsageError(f"{path / folder} has {name!r} twice, in two Unicode forms")
            else:
                left_out.append(f"{folder}/{file}")
    readable = [name.encode("utf-8", "replace").decode() for name in left_out]
    source = Source(config, toml, files, tuple(sorted(readable)))
    for names in (source.names, source.suites):
        guards.check_twins(names, names)
    if not (toml or source.names or source.suites):
        raise UsageError(
            f"{path} has nothing that a store has", hint=f"it needs {layout.CONFIG}, experiences or cases"
        )
    return source


def _checked(file: Path, suffix: str, check: Check, limits: Limits) -> tuple[str, bytes]:
    """Return the name, in NFC: some systems keep the other form, and the bytes of a file that passes."""
    data = _read(file)
    try:
        name = check_name(file.name.removesuffix(suffix))
        check(name, data, str(file), limits)
    except XpError as error:
        raise type(error)(located(error, str(file)), hint=error.hint) from error
    return name, data


def _check_suite(_name: str, data: bytes, _where: str, _limits: Limits) -> None:
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            value = json.loads(line, parse_constant=_no_number) if line.strip() else {}
        except (ValueError, RecursionError) as error:
            raise FormatError(f"line {number} is no JSON: {error}", hint="one case per line") from error
        if not isinstance(value, dict):
            raise FormatError(f"line {number} is no JSON object", hint="one case per line")


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


def listing(folder: Path) -> list[str]:
    """Return the names in a folder, sorted. Raises UsageError; RefusedError for a part that is a link."""
    if folder.name in PARTS and folder.is_symlink():
        raise _link(folder)
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names are enough
    except OSError as error:
        raise UsageError(f"cannot read {folder}: {error.strerror or error}", hint="name a folder") from error


def read_text(file: Path) -> str:
    """Return an ordinary file of at most FILE_LIMIT bytes. Raises a UsageError or RefusedError."""
    try:
        return _read(file).decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"{file} is not UTF-8", hint="convert it first") from error


def _read(file: Path) -> bytes:
    try:
        about = file.lstat()
        if stat.S_ISLNK(about.st_mode):
            raise _link(file)
        if not stat.S_ISREG(about.st_mode):
            raise UsageError(f"{file} is no ordinary file", hint="leave it out")
        if about.st_size > FILE_LIMIT:
            raise LimitError(f"{file} has {about.st_size} bytes, the limit is {FILE_LIMIT}", hint="split it")
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror or error}", hint="check it") from error


def _link(path: Path) -> RefusedError:
    return RefusedError(f"{path} is a symbolic link", hint="links are not followed: copy what it points at")
