"""What a search has found, as people and programs read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.bisect.choose import Step, bet, decide, wanted
from trainer.bisect.run import Kind
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trainer.bisect.choose import Answer
    from trainer.bisect.model import Counts
    from trainer.bisect.search import Search
    from xpstore.events import Entry

SHOWN = 5
"""How many suspects are listed."""
FELL = 0.5
"""A case that fell with at least this probability is listed."""


class Suspect(Frozen):
    """An update that may have done it."""

    commit: str
    subject: str
    plans: tuple[str, ...]
    learner: str
    """Empty for a person's commit."""
    rollouts: str
    """What it rests on, as its message says: `93 passed=17`."""
    probability: float


class Fall(Frozen):
    """How a case came out before the culprit and from it on."""

    name: str
    before: tuple[int, int]
    """Passed, scored."""
    after: tuple[int, int]
    probability: float
    """That it is affected."""


class Skipped(Frozen):
    """A commit that could not be evaluated."""

    commit: str
    error: str


class Confirmation(Frozen):
    """The culprit against its parent, on the same fresh seeds."""

    only_before: int
    """Pairs of trials that only the parent passed; `only_after` likewise."""
    only_after: int
    bet: float
    needed: float


class Outcome(Frozen):
    """The end of a search."""

    state: Kind
    """`found`; `same`: no difference; `stuck`: no trial would tell more; `spent`: max_rollouts are."""
    good: str
    bad: str
    """Commit ids."""
    suite: str
    cases: int
    suspects: int
    undone: int
    same: float
    """The probability that no case fell."""
    culprit: tuple[Suspect, ...] = ()
    """Who did it; several where what lies between them could not be evaluated."""
    likeliest: tuple[Suspect, ...] = ()
    fell: tuple[Fall, ...] = ()
    confirmation: Confirmation | None = None
    skipped: tuple[Skipped, ...] = ()
    rollouts: int
    reused: int

    @property
    def exit_code(self) -> int:
        """0 where a culprit was found."""
        return int(self.state != "found")

    @property
    def revert(self) -> str:
        """What undoes the culprit: the words after `xp`, or after `git` for a person's commit; else empty."""
        if len(self.culprit) != 1:
            return ""
        (one,) = self.culprit
        return f"revert {one.plans[0] if len(one.plans) == 1 else one.commit[:12]}"


class Intended(Frozen):
    """The next step, by names."""

    aim: str
    commits: tuple[str, ...]
    cases: tuple[str, ...]
    trials: int
    """Of each case at each commit."""


class Preview(Frozen):
    """What a search would begin with."""

    good: str
    bad: str
    suite: str
    cases: int
    suspects: int
    undone: int
    reused: int
    likeliest: tuple[Suspect, ...]
    next: Intended | None
    """None where what is on record decides it."""


def preview(found: Search) -> Preview:
    """Return what a search would begin with."""
    span, question = found.span, found.question
    step = decide(found.board, question.confidence, min(question.parallel, question.max_rollouts))
    return Preview(
        good=span.states[0].commit,
        bad=span.states[-1].commit,
        suite=question.suite,
        cases=len(found.cases),
        suspects=len(span.suspects),
        undone=span.undone,
        reused=found.reused,
        likeliest=_ranked(found),
        next=Intended(
            aim=step.aim,
            commits=tuple(span.states[n].commit for n in step.states),
            cases=tuple(found.cases[n].name for n in step.cases),
            trials=step.trials,
        )
        if isinstance(step, Step)
        else None,
    )


def _ranked(found: Search) -> tuple[Suspect, ...]:
    chances = found.posterior.suspects
    ranked = sorted(_left(found, range(1, len(chances) + 1)), key=lambda n: -chances[n - 1])
    return tuple(suspect_of(found.span.suspect(n), chances[n - 1]) for n in ranked[:SHOWN])


def outcome(found: Search, kind: Kind, answer: Answer) -> Outcome:
    """Return what a search has found."""
    board, posterior = found.board, found.posterior
    chances = posterior.suspects
    pair = (answer.first - 1, answer.last)
    won, lost = board.pairs.get(pair, (0, 0))
    needed = wanted(board, 1 - found.question.confidence, pair)
    confirmation = Confirmation(only_before=won, only_after=lost, bet=bet(won, lost), needed=needed)
    span = found.span
    return Outcome(
        state=kind,
        good=span.states[0].commit,
        bad=span.states[-1].commit,
        suite=found.question.suite,
        cases=len(found.cases),
        suspects=len(span.suspects),
        undone=span.undone,
        same=posterior.same,
        culprit=tuple(
            suspect_of(span.suspect(n), chances[n - 1])
            for n in _left(found, range(answer.first, answer.last + 1))
            if kind == "found"
        ),
        likeliest=_ranked(found) if kind != "same" else (),
        fell=_fallen(found, answer) if kind != "same" else (),
        confirmation=confirmation if pair in board.pairs else None,
        skipped=tuple(
            Skipped(commit=span.states[n].commit, error=error) for n, error in found.skipped.items()
        ),
        rollouts=found.rollouts,
        reused=found.reused,
    )


def _left(found: Search, numbers: Iterable[int]) -> list[int]:
    """Return the suspects that are not undone already; all of them where that leaves none."""
    every = list(numbers)
    return [number for number in every if number not in found.span.harmless] or every


def suspect_of(entry: Entry, probability: float) -> Suspect:
    """Return a commit as a suspect."""
    stamps = entry.stamps
    return Suspect(
        commit=entry.commit,
        subject=entry.subject,
        plans=entry.plan_ids,
        learner=stamps[0].get("Learner") if stamps else "",
        rollouts=stamps[0].get("Rollouts") if len(stamps) == 1 else "",
        probability=probability,
    )


def _fallen(found: Search, answer: Answer) -> tuple[Fall, ...]:
    """Return the cases that fell, the surest first."""
    posterior, rows = found.posterior, []
    for case, counts in zip(found.cases, found.scores.counts, strict=True):
        chance = sum(posterior.affected(counts))
        if chance >= FELL:
            before, after = (
                _sums(counts, low, high) for low, high in ((0, answer.first), (answer.last, None))
            )
            rows.append(Fall(name=case.name, before=before, after=after, probability=chance))
    return tuple(sorted(rows, key=lambda row: (-row.probability, row.name)))


def _sums(counts: Counts, low: int, high: int | None) -> tuple[int, int]:
    rows = [(won, lost) for state, won, lost in counts if low <= state and (high is None or state < high)]
    won = sum(row[0] for row in rows)
    return won, won + sum(row[1] for row in rows)
