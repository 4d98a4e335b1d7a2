"""A patch file read as text: what it says of a lesson, without the value types and without a check.

`xp show` and `xp blame` start fast with it; `patchfile` is who reads a gradient back and checks its ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from xpstore.errors import FormatError

_INDENT = "    "  # of the rationale
_END = "-- \nxpstore\n"


@dataclass(frozen=True)
class PatchText:
    """One patch file. Ids and paths as they stand in it."""

    gradient_id: str
    experience: str
    confidence: float
    rationale: str
    rollouts: tuple[str, ...]
    notes: tuple[str, ...]
    """The paths of the notes on rollouts that support it."""
    hunk: tuple[str, ...]
    """The lines of the diff below `@@`, each with its sign; the whole file is their context."""

    @cached_property
    def added(self) -> frozenset[str]:
        """The lines that it adds, without line breaks."""
        return frozenset(line[1:].removesuffix("\r") for line in self.hunk if line.startswith("+"))

    @property
    def before(self) -> str:
        """The file before."""
        return self._side("-")

    @property
    def after(self) -> str:
        """The file after."""
        return self._side("+")

    def _side(self, sign: str) -> str:
        return "\n".join(line[1:] for line in self.hunk if line.startswith((" ", sign))) + "\n"


def read(data: bytes, plan_id: str) -> PatchText:
    """Return what a patch file of this plan says. Raises FormatError where it says no confidence."""
    _, _, mail = data.decode("utf-8", "replace").partition("\n\n")
    head, _, rest = mail.partition("\n\n")
    prose, _, diff = f"\n{rest}".partition("\n---\n")
    fields: dict[str, list[str]] = {}
    for line in head.split("\n"):
        key, _, value = line.partition(": ")
        fields.setdefault(key, []).append(value)
    try:
        confidence = float(fields["Confidence"][0])
    except (KeyError, ValueError) as error:
        raise FormatError(
            f"a patch of plan {plan_id} has no confidence: it was altered", hint="xp verify tells more"
        ) from error
    _, _, hunk = f"\n{diff.removesuffix(_END)}".partition("\n@@ ")
    return PatchText(
        gradient_id=fields.get("Gradient-Id", [""])[0],
        experience=fields.get("Target", [""])[0].rpartition("/")[2].removesuffix(".md"),
        confidence=confidence,
        rationale="\n".join(line.removeprefix(_INDENT) for line in prose.split("\n")).strip("\n"),
        rollouts=tuple(fields.get("Rollouts", ())),
        notes=tuple(fields.get("Evidence", ())),
        hunk=tuple(hunk.split("\n")[1:]),
    )
