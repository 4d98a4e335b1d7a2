"""Put shims into the folder that git runs hooks from, and take them out again.

Nothing is overwritten. A hook that is there gets a second name beside it, which is never one that is taken,
before the shim takes its first one; `uninstall` gives it back, so bytes and mode are what they were.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hooks import folder, kept, packs, shim
from hooks.install_lock import installing
from xpstore import gitcli
from xpstore.errors import RefusedError, RepositoryError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xpstore.git import Repo

DECLARED = "xp.hooks"
"""The setting of git that names what was installed here, so that a loss shows."""
_SHARED = (
    "--shared installs them there all the same; `git config core.hooksPath DIR` chooses a folder for here"
)

Action = Literal["installed", "chained", "renewed", "unchanged", "removed", "restored", "left"]


@dataclass(frozen=True, slots=True)
class Step:
    """What was done about one hook."""

    hook: str
    action: Action
    kept: str = ""
    """The name of the hook that was there before, which runs first; "" for none."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One shim that is to be."""

    hook: str
    path: Path
    before: bytes | None
    """What is there now."""
    there: shim.Shim | None
    """What it says if it is ours."""


def install(repo: Repo, hooks: Sequence[str], program: str, *, shared: bool = False) -> list[Step]:
    """Install the shims of these hooks; those that are there as they should be stay as they are.

    `program` is where xp is; `shared` allows a folder, or files, that other repositories or clones use too.
    Raises RefusedError for those without it, RepositoryError where the folder cannot be written. Either
    way, no hook is lost.
    """
    if repo.workdir is None and "pre-commit" in hooks and not (repo.common_dir / "worktrees").is_dir():
        raise UsageError(
            f"{repo.place} has no working tree: nobody commits there",
            hint="--server installs what checks pushes",
        )
    where = folder.find(repo)
    if where.shared_with and not shared:
        raise RefusedError(f"the hooks in {where.path} are run by {where.shared_with}", hint=_SHARED)
    try:
        where.path.mkdir(parents=True, exist_ok=True)
        with installing(where.path):
            wanted = [_look(where.path, hook) for hook in hooks]
            for each in wanted:
                _check_own(repo, each, shared=shared)
            steps = [_put(each, program) for each in wanted]
            declared = {*declared_here(repo), *hooks}
            names = " ".join(hook for hook in shim.KNOWN if hook in declared)
            gitcli.run(repo.place, ["config", "--local", DECLARED, names])
            if not {*shim.SERVER, *shim.ALONE}.isdisjoint(hooks):
                packs.set_up(repo)
    except OSError as error:
        raise RepositoryError(
            f"cannot install hooks in {where.path}: {error.strerror or error}",
            hint="xp hooks doctor says what is there",
        ) from error
    return steps


def _check_own(repo: Repo, wanted: _Wanted, *, shared: bool) -> None:
    """Raise RefusedError where a hook that would be moved is a file of the project."""
    is_foreign = wanted.before is not None and wanted.there is None
    if is_foreign and not shared and folder.is_tracked(repo, wanted.path):
        raise RefusedError(
            f"{wanted.path} is a file of the project: moving it would change it for everybody",
            hint=f'add a line to it: xp hook {wanted.hook} "$@" || exit; or move it anyway with --shared',
        )


def uninstall(repo: Repo, *, shared: bool = False) -> list[Step]:
    """Take all shims out of the folder, and give the hooks that were there their names back.

    They also go from the usual folder, which was git's before core.hooksPath named another one. Raises
    RefusedError for a folder that others use too, without `shared`; RepositoryError where a folder cannot
    be written.
    """
    where = folder.find(repo)
    if where.shared_with and not shared and shims(where.path):
        raise RefusedError(
            f"the hooks in {where.path} are run by {where.shared_with}",
            hint="--shared takes them out for all",
        )
    places = dict.fromkeys((where.path, repo.common_dir / "hooks"))
    if where.shared_with and not shared:
        del places[where.path]
    steps: list[Step] = []
    try:
        for place in filter(Path.is_dir, places):
            with installing(place):
                steps += _restore(place)
    except OSError as error:
        raise RepositoryError(
            f"cannot change {error.filename or where.path}: {error.strerror or error}",
            hint="run it again when it can be written",
        ) from error
    if declared_here(repo):
        gitcli.run(repo.place, ["config", "--local", "--unset-all", DECLARED])
        packs.drop_section(repo, "xp")
    packs.take_out(repo)
    return steps


def declared_here(repo: Repo) -> list[str]:
    """Return the hooks that were installed in this repository and not taken out since."""
    done = gitcli.attempt(repo.place, ["config", "--local", "--get", DECLARED])
    return done.out.decode("utf-8", "replace").split()


def shims(where: Path) -> dict[str, shim.Shim]:
    """Return file name → shim of every shim in a folder, whatever its file is called now."""
    found: dict[str, shim.Shim] = {}
    for file in sorted(where.iterdir()) if where.is_dir() else []:
        ours = shim.read(file.read_bytes()) if file.is_file() and not file.is_symlink() else None
        if ours:
            found[file.name] = ours
    return found


def orphans(where: Path) -> list[str]:
    """Return the kept hooks that no shim runs any more: somebody has overwritten it."""
    run = {ours.kept for ours in shims(where).values()}
    files = sorted(file.name for file in where.iterdir()) if where.is_dir() else []
    return [name for name in files if kept.is_kept(name) and name not in run]


def _look(where: Path, hook: str) -> _Wanted:
    path = where / hook
    if path.is_dir():
        raise RefusedError(f"{path} is a folder", hint="git runs files; move it away")
    before: bytes | None = None
    try:
        before = path.read_bytes()
    except FileNotFoundError:
        before = b"" if path.is_symlink() else None  # a link to nothing is somebody's, too
    except OSError as error:
        raise RepositoryError(f"cannot read {path}: {error.strerror or error}") from error
    return _Wanted(hook, path, before, shim.read(before) if before and not path.is_symlink() else None)


def _put(wanted: _Wanted, program: str) -> Step:
    path, before, there = wanted.path, wanted.before, wanted.there
    second = there.kept if there else ""
    was = b"" if before is None else before
    if there and second:
        was = (path.parent / second).read_bytes() if (path.parent / second).is_file() else b""
    if before is not None and there is None:
        second = kept.keep(path)
    if second:
        kept.link(path.parent, second)
    text = shim.render(wanted.hook, program, second, was).encode("utf-8", "surrogateescape")
    if there and before == text and os.access(path, os.X_OK):
        return Step(wanted.hook, "unchanged", second)
    draft = _draft(path)
    draft.write_bytes(text)
    draft.chmod(0o755)
    draft.replace(path)
    return Step(wanted.hook, "renewed" if there else "chained" if second else "installed", second)


def _draft(path: Path) -> Path:
    return path.with_name(f".{path.name}.xpstore-draft")


def _restore(where: Path) -> Iterator[Step]:
    for hook in shim.KNOWN:
        _draft(where / hook).unlink(missing_ok=True)  # of one that was stopped: it says what the shim says
    # one at a time: what a shim has kept may be an older shim, that two installations at once have left
    while found := shims(where):
        name, ours = next(iter(found.items()))
        file = where / ours.kept if ours.kept else None
        kept.unlink(where, ours.kept)
        if file and os.path.lexists(file):
            file.replace(where / name)
            yield Step(ours.hook, "restored", ours.kept)
        else:
            (where / name).unlink()
            yield Step(ours.hook, "removed", ours.kept)
    for name in orphans(where):
        hook = name.rpartition(".")[0]
        kept.unlink(where, name)
        if not os.path.lexists(where / hook):
            (where / name).rename(where / hook)
            yield Step(hook, "restored", name)
        elif os.path.samestat((where / name).lstat(), (where / hook).lstat()):
            (where / name).unlink()  # an installation was stopped before its shim took the first name
            yield Step(hook, "restored", name)
        else:
            yield Step(hook, "left", name)  # newer than what we kept: both stay
