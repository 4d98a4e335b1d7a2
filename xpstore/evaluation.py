"""EvaluationRecord: how a set of experiences did on a suite of cases, kept so that nobody pays for it twice.

    evidence branch      evaluations/<ab>/<key id>.<record id>.json     immutable, named by its content
    refs/notes/xp-eval   one JSON line per record, for people: `git log --notes=xp-eval`

The key says what was measured: the tree of the experiences (not the commit, so a rebased or squashed commit
with the same pages has the same scores), suite, seeds, agent, model, simulator and code. Scores are noisy: a
key may have several records. `fresh` numbers the repetitions; records of one number come from clones that
measured without knowing of each other, and all of them are kept.

A record names cases of a suite, never rollouts, so `xp forget` leaves it.
"""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, NonNegativeInt, ValidationError

from xpstore import evaluation_notes, evidence, layout, measured, objects
from xpstore.errors import FormatError, UsageError
from xpstore.hashing import content_id
from xpstore.interval import wilson
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from xpstore.location import Location

SEARCH = "bisect:"
"""What the suite of a record starts with that a search made: it says nothing of the whole suite."""
_PATH = re.compile(r"evaluations/../([0-9a-f]+)\.[0-9a-f]+\.json")


class EvaluationKey(Frozen):
    """What was measured. Equal keys may share their scores."""

    experiences: str
    """Tree id of the experiences, see `experiences_at`."""
    suite: str
    suite_digest: str
    trials: int
    """Attempts at each case."""
    seeds: tuple[int, ...]
    agent: str
    model: str = ""
    simulator: str = ""
    environment: str = ""
    code: str = ""
    """Version of the code that acts and scores."""

    @cached_property
    def id(self) -> str:
        """The content id of the key."""
        return content_id(self.model_dump(mode="json"))


class TrialResult(Frozen):
    """One attempt at a case, scored."""

    case: str
    """The id of the case."""
    name: str
    trial: int
    seed: int
    passed: bool
    score: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class TrialFailure(Frozen):
    """One attempt that could not be scored: neither passed nor failed."""

    case: str
    name: str
    trial: int
    seed: int
    stage: str
    error: str


class EvaluationRecord(Frozen):
    """One evaluation of one set of experiences."""

    key: EvaluationKey
    commit: str
    """What was checked out; other commits may have the same experiences."""
    results: tuple[TrialResult, ...]
    failures: tuple[TrialFailure, ...] = ()
    fresh: NonNegativeInt = 0
    """Number of the repetition: 0 for the first one, then 1, 2, …"""

    @cached_property
    def id(self) -> str:
        """The content id of the record."""
        return content_id(self.model_dump(mode="json"))

    @property
    def is_score(self) -> bool:
        """Whether it is a score of the suite, and not of cases that a search has chosen for being bad."""
        return not self.key.suite.startswith(SEARCH)

    @property
    def passed(self) -> int:
        """How many attempts passed."""
        return sum(result.passed for result in self.results)

    @property
    def n(self) -> int:
        """How many attempts were scored."""
        return len(self.results)

    @property
    def accuracy(self) -> float:
        """Share of the scored attempts that passed, failures apart; 0 where none was scored."""
        return self.passed / self.n if self.n else 0.0

    @property
    def average_score(self) -> float:
        """Mean score of the scored attempts; 0 where none was scored."""
        return sum(result.score for result in self.results) / self.n if self.n else 0.0


def summary(record: EvaluationRecord) -> str:
    """Return the scores in a line for people: `test 34/80 42.5 % (32–53), 2 failures`."""  # noqa: RUF002  # the dash of a range
    low, high = wilson(record.passed, record.n)
    interval = f"{record.accuracy:.1%}".replace("%", " %") + f" ({low:.0%}–{high:.0%})".replace("%", "")  # noqa: RUF001  # the dash of a range
    count = len(record.failures)
    failures = f", {count} failure{'' if count == 1 else 's'}" if count else ""
    return f"{record.key.suite} {record.passed}/{record.n} {interval}{failures}"


def experiences_at(loc: Location, commit: str) -> str:
    """Return the id of the experiences' tree at a commit; the empty tree's where there is none."""
    here = loc.at(commit)
    entry = here.repo.entry(here.repo.commit(commit).tree, here.in_tree(layout.EXPERIENCES))
    return entry.id if entry else objects.make("tree", b"").id


def record_path(record: EvaluationRecord) -> str:
    """Return where the record is kept in the evidence branch."""
    return layout.evaluation_path(record.key.id, record.id)


def read_record(data: bytes, where: str) -> EvaluationRecord:
    """Return the record in a file. Raises FormatError."""
    try:
        return EvaluationRecord.model_validate(evidence.parse_json(data, where))
    except ValidationError as error:
        first = error.errors()[0]
        why = ": ".join(filter(None, [".".join(map(str, first["loc"])), first["msg"]]))
        raise FormatError(f"{where} is no evaluation: {why}", hint="see xp verify") from error


def write(loc: Location, record: EvaluationRecord, *, is_own: bool = True) -> EvaluationRecord:
    """Put on file what was measured here, and a line on a score into the commit's note; return what is there.

    No-op where it is there already; `is_own` = False for scores that another repository has measured. Secrets
    in the errors are masked. Raises UsageError where the commit has other experiences than the key says,
    NotFoundError where there is no such commit.
    """
    commit = loc.repo.resolve(record.commit)
    found = experiences_at(loc, commit)
    if found != record.key.experiences:
        raise UsageError(
            f"commit {record.commit[:12]} has the experiences {found[:12]},"
            f" the evaluation is of {record.key.experiences[:12]}",
            hint="evaluate the commit that was checked out",
        )
    record = _redacted(record)
    file = evidence.json_file(record_path(record), record.model_dump(mode="json"))
    evidence.write(loc, [file], f"Evaluate {record.commit[:12]}: {summary(record)}")
    if record.is_score:
        evaluation_notes.add(loc, {commit: [note_line(record)]})
    if is_own:
        measured.note(loc, file.path)
    return record


def find(loc: Location, key: EvaluationKey, among: Collection[str] | None = None) -> EvaluationRecord | None:
    """Return the newest repetition under a key, or None; only of these names (`measured.names`) if given."""
    found = repetitions(loc, key)
    usable = [record for record in found if among is None or f"{key.id}.{record.id}" in among]
    return max(usable, key=lambda record: (record.fresh, record.id), default=None)


def repetitions(loc: Location, key: EvaluationKey) -> list[EvaluationRecord]:
    """Return all that is on record under a key."""
    folder = layout.evaluation_path(key.id, "").rpartition("/")[0]
    paths = [path for path in evidence.listing(loc, folder) if _key_id(path) == key.id]
    return [record for path in paths if (record := at_path(loc, path))]


def at_path(loc: Location, path: str) -> EvaluationRecord | None:
    """Return the evaluation at a path of the evidence branch; None where there is none by that name.

    What is no evaluation, or not the one that its name says, is passed over: anybody can push a file, and
    `xp verify` names it.
    """
    data = evidence.read(loc, path) if _key_id(path) else None
    if data is None:
        return None
    try:
        record = read_record(data, path)
    except FormatError:
        return None
    return record if record_path(record) == path else None


def of_commit(loc: Location, commit: str) -> list[EvaluationRecord]:
    """Return the evaluations of a commit's experiences, sorted by suite, key and repetition.

    `commit` is a full id.
    """
    return of_trees(loc, {experiences_at(loc, commit)})


def of_trees(loc: Location, wanted: Collection[str]) -> list[EvaluationRecord]:
    """Return the evaluations of trees of experiences, in one pass, sorted as above."""
    found = [record for record in _records(loc, wanted) if record.key.experiences in wanted]
    return sorted(found, key=lambda r: (r.key.suite, r.key.id, r.fresh, r.id))


def renote(loc: Location, commits: Iterable[str]) -> list[str]:
    """Write the notes of commits anew from the records of their experiences; return those that changed.

    For commits that were rebased, squashed or made by another clone, and for the same experiences at
    another commit. `commits` are full ids; lines that are there stay.
    """
    wanted = {commit: experiences_at(loc, commit) for commit in commits}
    records = [record for record in of_trees(loc, set(wanted.values())) if record.is_score]
    lines = {
        commit: [note_line(record) for record in records if record.key.experiences == experiences]
        for commit, experiences in wanted.items()
    }
    return evaluation_notes.add(loc, {commit: text for commit, text in lines.items() if text})


def note_line(record: EvaluationRecord) -> str:
    """Return the line of a record in a note: JSON that begins with what people read."""
    value = {
        "summary": summary(record),
        "suite": record.key.suite,
        "passed": record.passed,
        "n": record.n,
        "failures": len(record.failures),
        "score": round(record.average_score, 6),
        "trials": record.key.trials,
        "agent": record.key.agent,
        "model": record.key.model,
        "fresh": record.fresh,
        "key": record.key.id,
    }
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _redacted(record: EvaluationRecord) -> EvaluationRecord:
    if not record.failures:
        return record
    from xpstore.redact import Redactor  # noqa: PLC0415  # loads every detector of secrets

    redactor = Redactor()
    failures = tuple(f.model_copy(update={"error": redactor.redact_text(f.error)}) for f in record.failures)
    return record.model_copy(update={"failures": failures})


def _records(loc: Location, wanted: Collection[str]) -> Iterator[EvaluationRecord]:
    """Yield the records whose bytes name one of the trees: parsing all would take far longer."""
    marks = [tree.encode() for tree in wanted]
    for path in evidence.listing(loc, "evaluations"):
        data = evidence.read(loc, path) if _key_id(path) else None
        if data is not None and any(mark in data for mark in marks) and (record := at_path(loc, path)):
            yield record


def _key_id(path: str) -> str:
    match = _PATH.fullmatch(path)
    return match[1] if match else ""
