"""Which experiences rollouts read, and how those rollouts came out: a fold over the ledger.

    {"event": "used", "experiences": [name, …], "snapshot": commit, "passed": true or false}

A rollout has such an event where it is known what it read, be it nothing; `passed` is left out where it was
not scored. Whoever reads an experience chose to, or was given it for its words: what comes of the figures
is how reading and passing go together, not what reading does.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xpstore import evidence
from xpstore.errors import InvalidNameError, RepositoryError
from xpstore.interval import newcombe
from xpstore.ledger import ledgers
from xpstore.names import check_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from xpstore.evidence import EvidenceFile
    from xpstore.ledger import Event
    from xpstore.location import Location

MOST = 200
"""Experiences of one event; what an agent reads is a handful."""
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Lift:
    """How much oftener rollouts passed that read an experience, on the cases that have both kinds."""

    difference: float
    """Share that passed where it was read minus where it was not, over the same mix of cases."""
    low: float
    high: float
    """The 95 % interval of the difference."""
    cases: int
    read: int
    """Scored rollouts of these cases that read it."""
    other: int
    """Scored rollouts of these cases that have no record of reading it."""


@dataclass(frozen=True, slots=True)
class Use:
    """What is on record of one experience, through all of its versions."""

    name: str
    read: int = 0
    """Rollouts that read it."""
    passed: int = 0
    failed: int = 0
    """Those of them that passed and failed; the rest was not scored."""
    lift: Lift | None = None
    """None where no case has scored rollouts of both kinds."""
    last: str = ""
    """The newest commit that a rollout read it at; "" where none is known here."""
    last_time: int = 0
    """When that commit was made, in seconds since 1970; 0 without one."""


def used_file(rollout_id: str, names: Iterable[str], snapshot: str, *, passed: bool | None) -> EvidenceFile:
    """Return the ledger file that says what a rollout read; what is no name of an experience is left out."""
    event: dict[str, object] = {"event": "used", "experiences": sorted(valid(names))[:MOST]}
    if _COMMIT.fullmatch(snapshot):
        event["snapshot"] = snapshot
    if passed is not None:
        event["passed"] = passed
    return evidence.ledger_file(rollout_id, event)


def valid(names: Iterable[object]) -> set[str]:
    """Return those that can be names of experiences: what says what was read is anybody's text."""
    found = set()
    for name in names:
        if isinstance(name, str):
            try:
                found.add(check_name(name))
            except InvalidNameError:
                continue
    return found


@dataclass(slots=True)
class _Tally:
    """Rollouts that passed, and rollouts that were scored."""

    passed: int = 0
    n: int = 0

    def add(self, *, passed: bool) -> None:
        self.passed += passed
        self.n += 1


@dataclass(slots=True)
class _Page:
    read: int = 0
    by_case: dict[str, _Tally] = field(default_factory=lambda: defaultdict(_Tally))
    snapshots: set[str] = field(default_factory=set)


def uses(loc: Location, names: Iterable[str] = ()) -> list[Use]:
    """Return what is on record of these experiences, and of all others that were read, sorted by name.

    Rollouts that a person has dropped from the inbox do not count. Raises FormatError for a ledger file that
    is no event.
    """
    pages: dict[str, _Page] = defaultdict(_Page)
    cases: dict[str, _Tally] = defaultdict(_Tally)
    for _, events in ledgers(loc):
        kinds = {event["event"] for event in events}
        if "dropped" not in kinds:
            _count(events, pages, cases)
    times: dict[str, int] = {}
    everything = sorted({*names, *pages})
    return [_use(loc, name, pages.get(name, _Page()), cases, times) for name in everything]


def _count(events: Sequence[Event], pages: dict[str, _Page], cases: dict[str, _Tally]) -> None:
    used = [event for event in events if event["event"] == "used"]
    case = next((str(e["case"]) for e in events if e["event"] == "received" and "case" in e), "")
    passed = next((p for e in (*used, *events) if isinstance(p := e.get("passed"), bool)), None)
    if passed is not None:
        cases[case].add(passed=passed)
    for name in {name for event in used for name in _names(event)}:
        pages[name].read += 1
        if passed is not None:
            pages[name].by_case[case].add(passed=passed)
        pages[name].snapshots.update(
            str(e["snapshot"]) for e in used if name in _names(e) and "snapshot" in e
        )


def _names(event: Mapping[str, object]) -> set[str]:
    listed = event.get("experiences")
    return valid(listed[:MOST]) if isinstance(listed, list) else set()


def _use(loc: Location, name: str, page: _Page, cases: Mapping[str, _Tally], times: dict[str, int]) -> Use:
    passed = sum(tally.passed for tally in page.by_case.values())
    scored = sum(tally.n for tally in page.by_case.values())
    for commit in page.snapshots - times.keys():
        times[commit] = _time(loc, commit)
    last = max(page.snapshots, key=lambda commit: (times[commit], commit), default="")
    known = times.get(last, 0)
    return Use(
        name=name,
        read=page.read,
        passed=passed,
        failed=scored - passed,
        lift=_lift(page.by_case, cases),
        last=last if known else "",
        last_time=known,
    )


def _time(loc: Location, commit: str) -> int:
    if not (_COMMIT.fullmatch(commit) and loc.repo.has(commit)):
        return 0
    try:
        return loc.repo.commit(commit).committer.time
    except RepositoryError:  # what has this id is no commit
        return 0


def _lift(by_case: Mapping[str, _Tally], cases: Mapping[str, _Tally]) -> Lift | None:
    """Return the difference over the same mix of cases.

    Each case has the weight of Mantel and Haenszel, n1 * n0 / (n1 + n0), with n1 rollouts that read it and n0
    that did not, on both sides: an easy case that was read about oftener does not look like a gain. The
    interval is Newcombe's for the two weighted shares, with effective sample
    sizes (Kish, Survey Sampling, 1965).
    """
    both = [
        (read, _Tally(cases[case].passed - read.passed, cases[case].n - read.n))
        for case, read in by_case.items()
        if cases[case].n > read.n
    ]
    if not both:
        return None
    weights = [read.n * other.n / (read.n + other.n) for read, other in both]
    one = _weighted([read for read, _ in both], weights)
    two = _weighted([other for _, other in both], weights)
    low, high = newcombe(one, two)
    return Lift(
        difference=one[0] - two[0],
        low=low,
        high=high,
        cases=len(both),
        read=sum(read.n for read, _ in both),
        other=sum(other.n for _, other in both),
    )


def _weighted(tallies: Sequence[_Tally], weights: Sequence[float]) -> tuple[float, float]:
    """Return the weighted share that passed, and what number of rollouts it is worth."""
    total = sum(weights)
    share = sum(w * t.passed / t.n for w, t in zip(weights, tallies, strict=True)) / total
    return share, total**2 / sum(w * w / t.n for w, t in zip(weights, tallies, strict=True))
