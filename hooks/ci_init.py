"""The files that make a CI system gate and land experiences: what they say, and where they go.

The templates are in `hooks/ci/`. A word between @ signs stands for what differs from store to store; what a
store says, such as the name of a branch, is put in as quoted YAML and reaches a shell as a variable only.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Literal, get_args

from xpstore import layout
from xpstore.errors import RefusedError, RepositoryError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from xpstore.location import Location

Site = Literal["github", "gitlab", "pre-commit"]
State = Literal["new", "unchanged", "changed", "theirs"]
SITES: tuple[Site, ...] = get_args(Site)
_GITLAB = ".gitlab/xp.yml"
_GITLAB_MAIN = f"include:\n  - local: {_GITLAB}\n"
_GLOB = re.compile(r"([*?+\[\]!\\])")


@dataclass(frozen=True, slots=True)
class Planned:
    """A file of a CI system, and what is to be done about it."""

    path: str
    """Below the top of the working tree."""
    text: str
    """What it says; of a file that is left alone, what it should have."""
    state: State
    """changed: it says something else. theirs: it does, and is the project's own; it is left alone."""


def guess(loc: Location) -> Site:
    """Return the site that hosts a store's remotes. Raises UsageError where their addresses do not say."""
    urls = " ".join(loc.repo.setting(f"remote.{name}.url") or "" for name in loc.repo.remotes)
    found: list[Site] = [site for site in SITES[:2] if site in urls]
    if len(found) != 1:
        raise UsageError("no remote says which site it is", hint=f"name one: {', '.join(SITES)}")
    return found[0]


def plan(loc: Location, site: Site, requirement: str) -> list[Planned]:
    """Return the files for a site. `requirement` is what pip shall install.

    Raises UsageError in a repository without a working tree, or where a name cannot stand in the files;
    RefusedError where a folder on the way leads out of the working tree.
    """
    top = loc.repo.workdir
    if top is None:
        raise UsageError(f"{loc.repo.place} has no working tree", hint="do it in a clone, and push")
    words = _words(loc, requirement)
    if site == "github":
        wanted = {f".github/workflows/xp-{name}.yml": f"github-{name}.yml" for name in ("gate", "land")}
        return [_planned(top, path, _text(name, words)) for path, name in wanted.items()]
    if site == "gitlab":
        own = _planned(top, _GITLAB, _text("gitlab.yml", words))
        return [own, _shared(top, ".gitlab-ci.yml", _GITLAB_MAIN, _GITLAB_MAIN, _GITLAB)]
    hooks = _text("pre-commit-hooks.yml", words)
    whole = _text("pre-commit.yml", {"HOOKS": hooks.rstrip("\n")})
    return [_shared(top, ".pre-commit-config.yaml", whole, hooks, "xp hook pre-commit")]


def write(loc: Location, planned: Sequence[Planned], *, force: bool = False) -> None:
    """Write what is not there yet; with `force`, over what says something else.

    Raises RefusedError, and nothing is written, where a file says something else; RepositoryError where the
    disk says no.
    """
    changed = [file.path for file in planned if file.state == "changed"]
    if changed and not force:
        raise RefusedError(
            f"{', '.join(changed)}: there is another text already",
            hint="--dry-run shows what would be written, --force writes it; nothing was written",
        )
    for file in planned:
        if file.state in {"new", "changed"}:
            _put((loc.repo.workdir or loc.repo.place) / file.path, file.text)


def _put(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise RepositoryError(f"cannot write {path}: {error.strerror or error}", hint="check it") from error


def _planned(top: Path, path: str, text: str) -> Planned:
    there = _there(top, path)
    state: State = "new" if there is None else "unchanged" if there == text else "changed"
    return Planned(path, text, state)


def _shared(top: Path, path: str, whole: str, part: str, sign: str) -> Planned:
    """Plan a file that belongs to the project: made where it is missing, never changed; `sign` is in ours."""
    there = _there(top, path)
    if there is None:
        return Planned(path, whole, "new")
    return Planned(path, part, "unchanged" if sign in there else "theirs")


def _there(top: Path, path: str) -> str | None:
    """Return what a file says now. Raises RefusedError where it is outside of the working tree."""
    file = top / path
    if not file.resolve().is_relative_to(top.resolve()):
        raise RefusedError(f"{path} leads out of {top}", hint="a symbolic link is on the way")
    try:
        return file.read_text("utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RepositoryError(f"cannot read {file}: {error.strerror or error}", hint="check it") from error


def _words(loc: Location, requirement: str) -> dict[str, str]:
    """Return what stands for the words of the templates."""
    main, pages = loc.config.main, loc.in_tree(layout.EXPERIENCES)
    for text in (main, pages, requirement):
        if "${{" in text or not text.isprintable():
            raise UsageError(f"{text!r} cannot stand in a workflow", hint="the site would take it for code")
    return {
        "MAIN": _quoted(main),
        "MAIN_PATTERN": _quoted(_GLOB.sub(r"\\\1", main)),
        "FOLDER": _quoted(loc.prefix or "."),
        "EVIDENCE": _quoted(loc.evidence_ref),
        "REQUIREMENT": _quoted(requirement),
        "EXPERIENCES_PATTERN": _quoted(_GLOB.sub(r"\\\1", pages) + "/**"),
        "EXPERIENCES_GLOB": _quoted(f"{pages}/**/*"),
        "EXPERIENCES_REGEX": _quoted(f"^{re.escape(pages)}/"),
    }


def _quoted(text: str) -> str:
    """Return a text as YAML reads it, whatever is in it."""
    return json.dumps(text, ensure_ascii=False)


def _text(name: str, words: Mapping[str, str]) -> str:
    template = (files("hooks") / "ci" / name).read_text("utf-8")
    return re.sub("@([A-Z_]+)@", lambda found: words[found[1]], template)
