from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import make_store
from xpstore import evidence
from xpstore.hashing import content_id
from xpstore.interval import newcombe
from xpstore.uses import MOST, Use, used_file, uses, valid

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.evidence import EvidenceFile
    from xpstore.location import Location


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    return make_store(tmp_path / "s")


def files(
    number: int, case: str, *read: str, passed: bool | None, snapshot: str = "", known: bool = True
) -> list[EvidenceFile]:
    """Return the ledger of a rollout; where it is not known what it read, a learner knows how it came out."""
    rollout = content_id(f"rollout {number}")
    event = {"event": "analysed", "learner": "offline/1", "passed": passed, "trajectories": []}
    return [
        evidence.ledger_file(rollout, {"event": "received", "case": case}),
        used_file(rollout, read, snapshot, passed=passed) if known else evidence.ledger_file(rollout, event),
    ]


def record(loc: Location, *ledgers: list[EvidenceFile]) -> None:
    evidence.write(loc, [file for ledger in ledgers for file in ledger], "Receive")


def test_nothing_is_on_record(loc: Location) -> None:
    assert uses(loc) == []
    assert uses(loc, ["refund"]) == [Use("refund")]


def test_reads_passes_and_failures_are_counted(loc: Location) -> None:
    main = loc.resolve(loc.main_ref)
    record(
        loc,
        files(1, "a", "refund", "退款", passed=True, snapshot=main),
        files(2, "a", "refund", passed=False, snapshot="f" * 40),
        files(3, "b", "refund", passed=None),
        files(4, "b", passed=True),
    )
    refund, chinese = uses(loc)
    assert (refund.name, refund.read, refund.passed, refund.failed) == ("refund", 3, 1, 1)
    assert (refund.last, refund.last_time) == (main, loc.repo.commit(main).committer.time)
    assert refund.lift is None  # no case has rollouts of both kinds
    assert (chinese.read, chinese.passed, chinese.failed) == (1, 1, 0)
    assert chinese.lift is not None
    assert (chinese.lift.difference, chinese.lift.read, chinese.lift.other) == (1.0, 1, 1)


def test_lift_compares_the_same_cases_in_the_same_mix(loc: Location) -> None:
    ledgers = []
    # easy: 1 of 1 read it and passed, 9 of 9 others passed; hard: 1 of 9 that read it passed, 0 of 1 others
    for n in range(10):
        ledgers.append(files(n, "easy", *(["p"] if n == 0 else []), passed=True, known=n < 5))
        ledgers.append(files(100 + n, "hard", *(["p"] if n else []), passed=n == 1))
        ledgers.append(files(200 + n, "elsewhere", passed=True))
    record(loc, *ledgers)
    (page,) = uses(loc)
    lift = page.lift
    assert (page.read, page.passed, page.failed) == (10, 2, 8)
    assert lift is not None
    # pooled over both cases it would be 2/10 - 9/10; each case by itself says 0 and 1/9
    assert lift.difference == pytest.approx(1 / 18)
    one = (1 + 1 / 9) / 2
    assert (lift.low, lift.high) == pytest.approx(newcombe((one, 4 / (1 + 1 / 9)), (1 / 2, 4 / (1 + 1 / 9))))
    assert (lift.cases, lift.read, lift.other) == (2, 10, 10)


def test_two_clones_tell_of_a_rollout_twice_and_it_counts_once(loc: Location) -> None:
    main = loc.resolve(loc.main_ref)
    record(loc, files(1, "a", "p", passed=True, snapshot=main), files(1, "a", "p", passed=True))
    record(loc, files(1, "a", "p", "q", passed=None))
    assert [(use.name, use.read, use.passed) for use in uses(loc)] == [("p", 1, 1), ("q", 1, 1)]


def test_what_was_dropped_counts_no_more(loc: Location) -> None:
    dropped = evidence.ledger_file(content_id("rollout 1"), {"event": "dropped", "why": "wrong score"})
    record(loc, files(1, "a", "p", passed=True), [dropped])
    assert uses(loc) == []


@pytest.mark.parametrize("listed", ["p", None, 7, {"p": 1}, [7, None, ["p"], "../p", "a b", "p\n", "x" * 99]])
def test_names_on_record_are_anybodys_text(loc: Location, listed: object) -> None:
    event = {"event": "used", "experiences": listed, "passed": "yes", "snapshot": "--output=x"}
    record(loc, [evidence.ledger_file(content_id("r"), event)])
    assert uses(loc) == []


def test_a_snapshot_that_is_no_commit_here_is_no_last_use(loc: Location) -> None:
    tree = loc.repo.commit(loc.resolve(loc.main_ref)).tree
    record(
        loc, files(1, "a", "p", passed=True, snapshot=tree), files(2, "a", "p", passed=True, snapshot="HEAD")
    )
    assert [(use.read, use.last, use.last_time) for use in uses(loc)] == [(2, "", 0)]


def test_an_event_has_a_bound() -> None:
    many = used_file("ab", [f"p{n}" for n in range(MOST * 2)], "", passed=None)
    assert many.data.count(b'"p') == MOST
    assert valid(["refund", "退款", "a/b", "", 1]) == {"refund", "退款"}
