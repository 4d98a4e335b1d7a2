"""GateRecord: what a gate has decided on a candidate, and by which rules; kept as evidence.

    evidence branch      gates/<ab>/<record id>.json      immutable, named by its content

A record is about two trees of experiences, not two commits: a rebased candidate with the same pages, on a
main with the same pages, has been decided on already. It cites the two evaluations that the decision was made
from, so anybody can decide again (trainer/gate/decide.py); `decided_by` says whether a person went beyond it.
That a record is there proves nothing: whoever can push evidence can write one. A server checks more.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, PositiveInt, ValidationError

from xpstore import evidence, layout
from xpstore.errors import FormatError
from xpstore.evaluation import experiences_at
from xpstore.hashing import content_id
from xpstore.model import Frozen
from xpstore.settings import MOST_TRIALS, GatePolicy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from xpstore.location import Location

Decision = Literal["accept", "reject", "inconclusive"]
GATE = "gate"
"""`decided_by` where the rules decided."""
PERSON = "person: "
"""What `decided_by` starts with where a person accepted what the rules had left open."""
NOBODY = "none"
"""`decided_by` where a candidate landed without a gate."""


class GateRecord(Frozen):
    """One decision."""

    candidate: str
    """Commit id; other commits may have the same experiences."""
    against: str
    """Commit id of what the candidate was compared with: where the branch was that it lands on."""
    experiences: str
    """Tree id of the candidate's experiences, see `evaluation.experiences_at`."""
    baseline: str
    """Tree id of the experiences that it was compared with."""
    suite: str = ""
    suite_digest: str = ""
    trials: Annotated[int, Field(ge=0, le=MOST_TRIALS)] = 0
    """Attempts at each case, on either side; 0 where nothing was measured."""
    policy: GatePolicy
    look: PositiveInt = 1
    """How often these two were compared so far, this time included: each look has its share of alpha."""
    evaluations: tuple[str, str] = ("", "")
    """Paths of the evaluations, baseline's and candidate's; empty where nothing was measured."""
    decision: Decision
    progress: bool = False
    """Whether it does not only no harm, but better."""
    reason: str
    """One sentence."""
    decided_by: str = GATE
    leaks: tuple[str, ...] = ()
    """What the candidate's lessons quote of cases that they must not know, a sentence each."""
    let_in: tuple[str, ...] = ()
    """The suspect plans that a person lets land with it, a sentence each."""

    @cached_property
    def id(self) -> str:
        """The content id."""
        return content_id(self.data)

    @property
    def data(self) -> dict[str, JsonValue]:
        """The record as JSON. What is seldom there is left out, so that older records keep their ids."""
        return self.model_dump(mode="json", exclude=set() if self.let_in else {"let_in"})


def record_path(record: GateRecord) -> str:
    """Return where the record is kept in the evidence branch."""
    return layout.gate_path(record.id)


def as_file(record: GateRecord) -> evidence.EvidenceFile:
    """Return the record as a file of the evidence branch."""
    return evidence.json_file(record_path(record), record.data)


def parse(data: bytes, where: str) -> GateRecord:
    """Return the record in a file. Raises FormatError."""
    try:
        return GateRecord.model_validate(evidence.parse_json(data, where))
    except ValidationError as error:
        first = error.errors()[0]
        why = ": ".join(filter(None, [".".join(map(str, first["loc"])), first["msg"]]))
        raise FormatError(f"{where} is no decision of a gate: {why}", hint="see xp verify") from error


def write(loc: Location, record: GateRecord) -> str:
    """Put a record on file and return its path; no-op where it is there already."""
    file = as_file(record)
    evidence.write(loc, [file], f"Gate {record.candidate[:12]}: {record.decision}")
    return file.path


def read(loc: Location, path: str) -> GateRecord | None:
    """Return the record at a path of the evidence branch; None where there is none. Raises FormatError."""
    data = evidence.read(loc, path)
    return None if data is None else parse(data, path)


def of_experiences(loc: Location, experiences: str, baseline: str) -> list[GateRecord]:
    """Return the decisions on two trees, those of fewer trials and looks first."""
    found = [r for r in _naming(loc, experiences) if (r.experiences, r.baseline) == (experiences, baseline)]
    return sorted(found, key=lambda r: (r.trials, r.look, r.id))


def of_suite(loc: Location, digest: str) -> list[GateRecord]:
    """Return the decisions that were measured on these cases, those of fewer trials and looks first."""
    found = [record for record in _naming(loc, digest) if record.suite_digest == digest]
    return sorted(found, key=lambda r: (r.trials, r.look, r.id))


def ungated(
    loc: Location, candidate: str, against: str, why: str, let_in: tuple[str, ...] = ()
) -> GateRecord:
    """Return what goes on record where a candidate lands and no gate has looked at it.

    `candidate` and `against` are full commit ids.
    """
    return GateRecord(
        candidate=candidate,
        against=against,
        experiences=experiences_at(loc, candidate),
        baseline=experiences_at(loc, against),
        policy=loc.config.gate,
        decision="accept",
        reason=why,
        decided_by=NOBODY,
        let_in=let_in,
    )


def _naming(loc: Location, some_id: str) -> Iterator[GateRecord]:
    """Yield the records whose bytes name a tree or a suite: parsing all would take far longer.

    What is no record, or not the one that its name says, is passed over: anybody can push a file, and
    `xp verify` names it.
    """
    mark = some_id.encode()
    for path in evidence.listing(loc, layout.GATES):
        data = evidence.read(loc, path) if path.endswith(".json") else None
        if data is not None and mark in data:
            with suppress(FormatError):
                record = parse(data, path)
                if record_path(record) == path:
                    yield record
