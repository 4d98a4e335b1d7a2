"""Make a store: a repository of its own, or a folder in one that exists, with one commit.

The commit has xp.toml, and where the store is made from a folder of plain files, these files too.
"""

from __future__ import annotations

import os
import secrets
import shutil
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from xpstore import layout, objects, publish, trees
from xpstore.config import FORMAT, StoreConfig, adapted, parse_config, render_config
from xpstore.errors import FormatError, UsageError
from xpstore.git import Move, Repo
from xpstore.location import Location, stores

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.objects import GitObject
    from xpstore.source import Source

BARE = StoreConfig(FORMAT, "0")
"""The settings of a store that is made from nothing."""
GIT = ".git"


def init(path: Path, *, name: str = "", main: str | None = None, source: Source | None = None) -> Location:
    """Make `path` a store and return where it is.

    In no repository: a new one, on branch `main` (default: the source's, "main"). In a repository: a folder
    of the branch that is checked out; what it adds is committed on its own and what is staged or changed
    stays as it is. A second store in one repository gets a name, the last part of `path` where none is
    given. `source` (read_source) has the first files of the store.

    Raises UsageError where there is a store already, and UsageError or RefusedError where a file is in the
    way; then nothing was made.
    """
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is a file", hint="name a directory")
    given = source.config if source else BARE
    name = name or given.name
    _check_free(path, source)
    repo = Repo.discover(_existing(path))
    if repo is None:
        config = _config(replace(given, name=name, main=main or given.main), path)
        return _new_repository(path, config, source)
    if repo.workdir is None:
        raise UsageError(
            f"{repo.place} is a bare repository", hint="clone it, run xp init in the clone, and push"
        )
    prefix = _prefix(repo, path)
    branch = _current_branch(repo, main)
    config = _config(replace(given, name=_free_name(repo, prefix, name), main=branch), path)
    return _commit(repo, prefix, config, source)


def _new_repository(path: Path, config: StoreConfig, source: Source | None) -> Location:
    """Make the repository and its first commit; where there is no commit in the end, take it away again."""
    made = next((p for p in (*reversed(path.parents), path) if not p.exists()), path / GIT)
    try:
        return _commit(Repo.create(path, config.main), "", config, source)
    finally:
        if not (path / GIT / layout.HEADS / config.main).is_file():
            shutil.rmtree(made, ignore_errors=True)


def _check_free(path: Path, source: Source | None) -> None:
    """Raise UsageError where something has the name of a file or folder that the source brings."""
    for part in sorted({file.partition("/")[0] for file in source.files} if source else ()):
        if os.path.lexists(path / part):
            raise UsageError(
                f"{path / part} is there already", hint="nothing is overwritten: choose another directory"
            )


def _existing(path: Path) -> Path:
    at = path.resolve()
    while not at.exists():
        at = at.parent
    return at


def _prefix(repo: Repo, path: Path) -> str:
    top = (repo.workdir or path).resolve()
    at = path.resolve()
    if at.is_relative_to(repo.git_dir.resolve()) or not at.is_relative_to(top):
        raise UsageError(
            f"{path} is not in the working tree {top}", hint="choose a folder of the working tree"
        )
    prefix = "" if at == top else PurePosixPath(at.relative_to(top)).as_posix()
    if (at / layout.CONFIG).exists():
        raise UsageError(
            f"{path} is a store already, or has a {layout.CONFIG}", hint="xp status tells about it"
        )
    for above in at.parents:
        if above.is_relative_to(top) and (above / layout.CONFIG).is_file():
            raise UsageError(
                f"{path} is inside the store {above}", hint="stores lie beside each other, not in each other"
            )
    return prefix


def _current_branch(repo: Repo, main: str | None) -> str:
    ref = repo.head_ref()
    if ref is None or not ref.startswith(layout.HEADS):
        raise UsageError(f"no branch is checked out in {repo.place}", hint="git switch BRANCH, then again")
    branch = ref.removeprefix(layout.HEADS)
    if main and main != branch:
        raise UsageError(
            f"{branch} is checked out in {repo.place}, not {main}", hint=f"git switch {main}, then again"
        )
    return branch


def _free_name(repo: Repo, prefix: str, name: str) -> str:
    """Return the name of the new store; "" only for the first one. Raises UsageError."""
    try:
        others, crowded = stores(repo), False
    except FormatError:  # of another program, or of a newer version: no claim on its refs
        others, crowded = [], True
    for other in others:
        if other.prefix == prefix:
            raise UsageError(f"{prefix or repo.place} is a store already", hint="xp status tells about it")
        if _inside(prefix, other.prefix) or _inside(other.prefix, prefix):
            raise UsageError(
                f"the stores {prefix or '.'} and {other.prefix or '.'} would lie in each other",
                hint="stores lie beside each other",
            )
    if (others or crowded) and not name:
        name = PurePosixPath(prefix).name
    if name in {other.config.name for other in others}:
        raise UsageError(f"this repository has a store {name!r}", hint="choose another one with --name")
    return name


def _inside(inner: str, outer: str) -> bool:
    return outer == "" or inner.startswith(f"{outer}/")


def _config(config: StoreConfig, path: Path) -> StoreConfig:
    """Return the settings with an id of their own."""
    if config.name in layout.RESERVED_STORE_NAMES:
        raise UsageError(
            f"a store cannot have the name {config.name!r}", hint="choose another one with --name"
        )
    config = replace(config, id=secrets.token_hex(10))
    return parse_config(render_config(config), str(path / layout.CONFIG))  # the names are checked there


def _commit(repo: Repo, prefix: str, config: StoreConfig, source: Source | None) -> Location:
    location = Location(repo, prefix, config)
    ref = location.main_ref
    files = {layout.CONFIG: (adapted(source.toml, config) if source else render_config(config)).encode()}
    files |= source.files if source else {}
    changes = {location.in_tree(file): data for file, data in files.items()}

    def attempt() -> bool:
        old = repo.ref(ref)
        tree = repo.commit(old).tree if old else None
        for file in changes:
            if tree and repo.entry(tree, file):  # committed, but not in the working tree
                raise UsageError(f"{file} is there already", hint="nothing is overwritten: git checkout it")
        spliced = trees.splice(repo.read_tree, tree, changes)
        who = repo.person()
        message = f"Make {prefix or 'this repository'} an experience store\n\nStore: {config.id}\n"
        made = objects.make_commit(spliced.tree, [old] if old else [], who, who, message)
        group: list[GitObject] = [*spliced.objects, made]
        return publish.publish(repo, group, [Move(ref, old, made.id, "xp: init")])

    publish.retried(repo, attempt, ref)
    return location
