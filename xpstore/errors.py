"""The error tree of the store.

XpError                   one clear message, where it happened, a hint, an exit code
├── UsageError            wrong use or bad input of any kind (exit 2)
│   ├── NotAStoreError    no store here
│   ├── InvalidNameError  an experience name that may not be written
│   ├── DocumentError     a file that does not parse
│   ├── LimitError        a plan or file over a limit of xp.toml
│   └── FormatError       a file, patch, record or version this program cannot read
├── NotFoundError         a ref, plan, rollout or experience that does not exist (exit 1)
├── ConflictError         the plan's base is no longer what the branch holds (exit 1)
├── RefusedError          the store will not write this: a guard said no (exit 1)
│   ├── DependantsError   later plans build on what shall be undone
│   └── HeldError         the gate did not accept a decision (exit 1; 2 where it cannot tell)
└── RepositoryError       git or the disk said no: corrupt, read-only, full (exit 1)
"""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote


class XpError(Exception):
    """An error a person can act on: `message` says what and where, `hint` what to do next."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def as_json(self) -> dict[str, object]:
        """Return the error as the `--json` object of the command line."""
        return {"error": type(self).__name__, "message": self.message, "hint": self.hint}


class UsageError(XpError):
    """Wrong use or bad input."""

    exit_code = 2


class NotAStoreError(UsageError):
    """There is no store where one was looked for."""


class InvalidNameError(UsageError):
    """An experience name that may not be written."""


class DocumentError(UsageError):
    """A Markdown file whose front matter does not parse."""


class LimitError(UsageError):
    """A plan or file over a limit of xp.toml."""


class FormatError(UsageError):
    """A patch, record, configuration or version that this program cannot read."""


class NotFoundError(XpError):
    """A ref, plan, rollout or experience that does not exist."""


class RefusedError(XpError):
    """The store will not write this."""


class DependantsError(RefusedError):
    """Later plans build on what shall be undone.

    `dependants` has plan id, commit and subject of each, oldest first.
    """

    def __init__(self, message: str, dependants: tuple[tuple[str, str, str], ...], *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.dependants = dependants

    def as_json(self) -> dict[str, object]:
        """Return the error with the plans."""
        keys = ("plan_id", "commit", "subject")
        return {
            **super().as_json(),
            "dependants": [dict(zip(keys, d, strict=True)) for d in self.dependants],
        }


class HeldError(RefusedError):
    """The gate did not accept a decision, which waits on a branch of its own.

    `decision` is the gate's, reject or inconclusive; `branch` is where it waits.
    """

    def __init__(self, reason: str, decision: str, branch: str) -> None:
        super().__init__(
            f"the gate says {decision}: {reason}; it waits on {branch}",
            hint=f"xp gate {quote(branch)} says more; xp land {quote(branch)} --no-gate lands it, on record",
        )
        self.decision, self.branch = decision, branch
        self.exit_code = 2 if decision == "inconclusive" else 1

    def as_json(self) -> dict[str, object]:
        """Return the error with the gate's decision and the branch."""
        return {**super().as_json(), "decision": self.decision, "branch": self.branch}


class RepositoryError(XpError):
    """Git or the disk said no: a corrupt object, a read-only directory, a full disk."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """One item whose base is not what the branch holds; whole file texts, None = no file."""

    name: str
    base: str | None
    ours: str | None
    theirs: str | None
    is_stale: bool = False
    """The plan was made on a page that never was so: that is no matter of merging."""


class ConflictError(XpError):
    """The branch holds other bytes than the plan was computed on.

    `conflicts` has base (what the plan saw), ours (the branch now), theirs (what the plan wants), `kept` the
    branches where what was refused waits for a decision, `choices` the commands of which each decides it.
    """

    def __init__(
        self,
        message: str,
        conflicts: tuple[Conflict, ...],
        *,
        hint: str = "",
        kept: tuple[str, ...] = (),
        choices: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message, hint=hint)
        self.conflicts = conflicts
        self.kept = kept
        self.choices = choices

    @property
    def next(self) -> tuple[str, ...]:
        """The commands that decide it: one for each branch, or the choices there are."""
        return self.choices or tuple(f"xp resolve {quote(branch)}" for branch in self.kept)

    def as_json(self) -> dict[str, object]:
        """Return the error with the names in conflict, where the work is, and what to type next."""
        names = [c.name for c in self.conflicts]
        return {**super().as_json(), "conflicts": names, "kept": list(self.kept), "next": list(self.next)}
