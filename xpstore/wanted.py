"""What a writer wants of a branch, as a value and as the bytes in which another process reads it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore import guards, record
from xpstore.errors import XpError
from xpstore.evidence import EvidenceFile
from xpstore.plan import PolicyUpdatePlan
from xpstore.record import Rendered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xpstore.location import Location


@dataclass(frozen=True, slots=True)
class Wanted:
    """Plans to apply to the branch `ref`; see `xpstore.commit.commit` for `start` and `extra`."""

    prepared: tuple[Rendered, ...]
    ref: str
    start: str
    extra: tuple[EvidenceFile, ...] = ()
    is_exact: bool = False
    """No page is merged: what is not as the plans saw it is a conflict."""

    def encode(self, loc: Location) -> bytes:
        """Return it as JSON; b"" where its evidence is no text, or it has to be exact: a person decided."""
        if self.is_exact:
            return b""
        try:
            rows = [
                [one.plan.model_dump(mode="json"), one.message, _rows(one.files)] for one in self.prepared
            ]
            return json.dumps([*self._address(loc), rows, _rows(self.extra)]).encode()
        except UnicodeDecodeError:
            return b""

    def decode(self, loc: Location, data: bytes) -> Wanted | None:
        """Return what another one wants of the same branch in the same name; None where it is anything else.

        The plans are checked as if they were one's own.
        """
        try:
            match json.loads(data):
                case [*address, [*rows], [*extra]] if address == self._address(loc):
                    prepared = [_rendered(row) for row in rows]
                    for rendered in prepared:
                        guards.check_plan(rendered.plan, loc.config)
                    return Wanted(tuple(prepared), self.ref, self.start, _files(extra))
        except (ValueError, XpError):  # its owner will say why
            return None
        return None

    def _address(self, loc: Location) -> list[str]:
        who = loc.repo.person()
        return [loc.config.id, self.ref, self.start, who.name, who.email]


def prepare(loc: Location, plans: Sequence[PolicyUpdatePlan]) -> list[Rendered]:
    """Check the plans and render them, which needs no look at any branch; see `commit` for what it raises."""
    for plan in plans:
        guards.check_plan(plan, loc.config)
    return [record.render(plan) for plan in plans]


def _rows(files: Sequence[EvidenceFile]) -> list[list[str]]:
    return [[file.path, file.data.decode()] for file in files]


def _files(rows: Sequence[object]) -> tuple[EvidenceFile, ...]:
    return tuple(_file(row) for row in rows)


def _file(row: object) -> EvidenceFile:
    match row:
        case [str(path), str(text)]:
            return EvidenceFile(path, text.encode())
    raise ValueError("no row of evidence")


def _rendered(row: object) -> Rendered:
    match row:
        case [plan, str(message), [*files]]:
            return Rendered(PolicyUpdatePlan.model_validate(plan), message, _files(files))
    raise ValueError("no plan")
