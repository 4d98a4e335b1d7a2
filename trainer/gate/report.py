"""What a gate has to say, as one value: `xp gate --json` prints it, markdown.py and junit.py render it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Literal

from trainer.gate.decide import CaseChange, Figures
from xpstore import candidate
from xpstore.evaluation import TrialFailure
from xpstore.gate_record import GateRecord
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trainer.gate.measure import Gated
    from xpstore.candidate import LandingCandidate
    from xpstore.evaluation import EvaluationRecord
    from xpstore.location import Location

Change = Literal["added", "changed", "removed"]


class Flip(Frozen):
    """A case that came out otherwise: `+` is a trial that passed, `-` one that did not, `?` has no score."""

    name: str
    baseline: str
    candidate: str
    difference: float
    """Change of the case's pass rate, over the trials that both sides scored."""


class Page(Frozen):
    """An experience that the candidate changes."""

    name: str
    change: Change


class Lesson(Frozen):
    """A commit of the candidate: what it teaches, and on what evidence."""

    commit: str
    author: str
    subject: str
    body: str
    """The message without trailers: rationale and evidence."""
    plan_ids: tuple[str, ...]


class Quotation(Frozen):
    """What a lesson quotes of a case that it must not know."""

    sentence: str
    is_blatant: bool


class Cost(Frozen):
    """What the measurement took."""

    ran: int
    """Trials that were run."""
    reused: int
    """Scores that were on record."""
    seconds: float


class GateReport(Frozen):
    """A decision with all that a reviewer needs."""

    branch: str
    main: str
    how: str
    """How it would land, as `xp land` says it."""
    record: GateRecord
    path: str
    """Where the record is in the evidence branch."""
    measured: bool
    """Whether the cases were run; False also where too much could not be scored."""
    needed: int | None
    """Attempts at each case that would decide."""
    figures: Figures | None
    flips: tuple[Flip, ...]
    """The worst first."""
    pages: tuple[Page, ...]
    lessons: tuple[Lesson, ...]
    """Oldest first."""
    quotations: tuple[Quotation, ...]
    suspects: tuple[str, ...] = ()
    """The plans that wait for a person's word, a sentence each; none where a person let them in."""
    unscored: tuple[TrialFailure, ...]
    environment: str
    agent: str
    model: str
    simulator: str
    code: str
    cost: Cost
    again: str
    """The command that repeats it."""
    url: str = ""
    """Where the repository is on the web; "" where nobody said."""
    evidence_branch: str
    store: str


def gate_report(
    location: Location, what: LandingCandidate, gated: Gated, *, again: str, url: str = ""
) -> GateReport:
    """Return the report on a decision about a candidate as it would land."""
    record, sides = gated.record, [side.record for side in (gated.baseline, gated.candidate) if side]
    key = sides[0].key if sides else None
    return GateReport(
        branch=what.branch,
        main=what.main,
        how=what.how,
        record=record,
        path=gated.path,
        measured=gated.decision.figures is not None,
        needed=gated.decision.needed,
        figures=gated.decision.figures,
        flips=tuple(_flips(gated.decision.changes, sides)),
        pages=tuple(_pages(location, what.old, what.new)),
        lessons=tuple(
            Lesson(
                commit=entry.commit,
                author=entry.author,
                subject=entry.subject,
                body=entry.body,
                plan_ids=entry.plan_ids,
            )
            for entry in what.entries
        ),
        quotations=tuple(Quotation(sentence=k.sentence, is_blatant=k.is_blatant) for k in gated.leaks),
        suspects=() if what.let_in else tuple(plan.sentence for plan in what.suspects),
        unscored=tuple(failure for side in sides for failure in side.failures),
        environment=key.environment if key else "",
        agent=key.agent if key else "",
        model=key.model if key else "",
        simulator=key.simulator if key else "",
        code=key.code if key else "",
        cost=Cost(ran=gated.ran, reused=gated.reused, seconds=round(gated.seconds, 1)),
        again=again,
        url=url.rstrip("/"),
        evidence_branch=location.evidence_ref.removeprefix("refs/heads/"),
        store=location.config.id,
    )


def _flips(changes: Iterable[CaseChange], sides: list[EvaluationRecord]) -> list[Flip]:
    drawn = [_drawn(side) for side in sides]
    flips = [
        Flip(
            name=change.name,
            baseline=drawn[0].get(change.case, ""),
            candidate=drawn[1].get(change.case, ""),
            difference=change.difference,
        )
        for change in changes
        if change.difference
    ]
    return sorted(flips, key=lambda flip: (flip.difference, flip.name))


def _drawn(record: EvaluationRecord) -> dict[str, str]:
    """Return a sign for every trial, by case, in the order of the trials."""
    signs: dict[str, dict[int, str]] = defaultdict(dict)
    for failure in record.failures:
        signs[failure.case][failure.trial] = "?"
    for result in record.results:
        signs[result.case][result.trial] = "+" if result.passed else "-"
    return {case: "".join(sign for _, sign in sorted(trials.items())) for case, trials in signs.items()}


def _pages(location: Location, old: str, new: str) -> list[Page]:
    before, after = candidate.pages_at(location, old), candidate.pages_at(location, new)
    changes: dict[str, Change] = dict.fromkeys(before.keys() - after.keys(), "removed")
    changes |= dict.fromkeys(after.keys() - before.keys(), "added")
    changes |= {name: "changed" for name in before.keys() & after.keys() if before[name] != after[name]}
    return [Page(name=name, change=changes[name]) for name in sorted(changes)]
