"""What every verb is handed: where `xp` was called, and the options that stand before the verb."""

from __future__ import annotations

import os
import shlex
import shutil
from dataclasses import dataclass
from os.path import normpath
from pathlib import Path
from typing import TYPE_CHECKING

import click

from xpstore.errors import UsageError

if TYPE_CHECKING:
    from xpstore.location import Location

_FROM_A_FILE = "Write it to a file first, and name that file."


@dataclass(frozen=True, slots=True)
class App:
    """The options before the verb."""

    cwd: Path
    """The directory of `-C`, else the current one; absolute."""
    store: str | None = None
    """Name, id or folder of the store, where the repository has several."""
    paging: bool = True

    def location(self) -> Location:
        """Return the store around the directory. Raises NotAStoreError."""
        from xpstore.location import Location

        return Location.find(self.cwd, self.store)

    def branch(self, location: Location, given: str | None) -> str:
        """Return the branch to commit on: the one given, else the one that is checked out.

        Raises UsageError where HEAD is detached, or there is no branch of this name.
        """
        if given:
            ref = location.branch_ref(given)
            if location.tip_of(ref) is None:
                raise UsageError(f"there is no branch '{given}'", hint="git branch -a lists branches")
            return ref.removeprefix("refs/heads/")
        head = location.repo.head_ref()
        if head is None:
            raise UsageError("no branch is checked out", hint="name one with --branch")
        return head.removeprefix("refs/heads/")

    def pager(self) -> str:
        """Return the pager's command line, as git chooses it without `core.pager`; empty = none."""
        if not self.paging:
            return ""
        for variable in ("GIT_PAGER", "PAGER"):
            if variable in os.environ:
                return os.environ[variable]
        return "less" if shutil.which("less") else ""

    def file(self, name: str) -> Path:
        """Return an input file: relative to the directory of `-C` as in git, or to where `xp` was called.

        Raises UsageError where there is no such file; a pipe is none, for files are read from several places.
        """
        if name == "-":
            raise UsageError("standard input is not read", hint=_FROM_A_FILE)
        places = list(dict.fromkeys(base / name for base in (self.cwd, Path.cwd())))
        for place in places:
            if place.is_file():
                return place
        for place in places:
            if place.is_dir():
                raise UsageError(f"'{name}' is a directory", hint=f"name the files in {place}")
            if place.exists():
                raise UsageError(f"'{name}' is a pipe or a device, not a file", hint=_FROM_A_FILE)
        folders = " and in ".join(normpath(place.parent) for place in places)
        raise UsageError(f"there is no file '{name}'", hint=f"it was looked for in {folders}")

    def typed(self, program: str = "xp") -> str:
        """Return how a command line begins that works here when typed where `xp` was called: `xp -C desk`.

        A name of a store is only for `xp`, not for git.
        """
        store = f" --store {shlex.quote(self.store)}" if self.store and program == "xp" else ""
        return f"{program}{there(self.cwd)}{store}"


def there(path: Path) -> str:
    """Return the option that makes a command work in a directory, for a shell; empty for the current one."""
    return "" if path == Path.cwd() else f" -C {shlex.quote(os.path.relpath(path))}"


branch_option = click.option(
    "--branch", metavar="BRANCH", help="Where to commit.  [default: the branch that is checked out]"
)
pass_app = click.make_pass_decorator(App)
json_option = click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
dry_run_option = click.option("-n", "--dry-run", is_flag=True, help="Say what would be done; write nothing.")
