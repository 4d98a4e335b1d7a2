from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_plan, make_store, page, texts, upsert
from xpstore import decision, evidence, gate_record, publish
from xpstore.commit import commit
from xpstore.decision import Gating, Settled
from xpstore.errors import ConflictError, HeldError, RefusedError, RepositoryError, UsageError
from xpstore.landing import GateVerdict
from xpstore.snapshot import snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from xpstore.candidate import LandingCandidate
    from xpstore.evidence import EvidenceFile
    from xpstore.git import Move, Repo
    from xpstore.location import Location
    from xpstore.objects import GitObject
    from xpstore.plan import PolicyUpdatePlan


@dataclass(frozen=True)
class Choice:
    plan: PolicyUpdatePlan

    @property
    def plans(self) -> tuple[PolicyUpdatePlan]:
        return (self.plan,)


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    loc = make_store(tmp_path / "s")
    commit(loc, [make_plan(loc, upsert("a", page("a")))], "main")
    return loc


def choose(loc: Location, tip: str, line: str) -> Choice:
    before = snapshot(loc, tip).by_name["a"].text
    return Choice(make_plan(loc, upsert("a", f"{before}- {line}\n", before), base_commit=tip))


def test_a_decision_is_made_anew_where_the_branch_moved(loc: Location):
    seen = []

    def decide(tip: str) -> Choice:
        made = choose(loc, tip, "Mine.")
        if not seen:
            commit(loc, [choose(loc, tip, "Theirs.").plan], "main")
        seen.append(tip)
        return made

    settled = decision.land(loc, "main", decide)
    assert len(seen) == 2
    assert settled.decision.plan.base_commit == seen[1]
    assert (settled.commits, settled.branch) == ((loc.repo.ref("refs/heads/main"),), "main")
    assert texts(loc, "main")["a"].endswith("- Theirs.\n- Mine.\n")


def test_a_branch_that_never_rests_is_given_up(loc: Location):
    def decide(tip: str) -> Choice:
        made = choose(loc, tip, "Mine.")
        commit(loc, [choose(loc, tip, f"Theirs on {tip}.").plan], "main")
        return made

    with pytest.raises(RepositoryError, match="keeps moving"):
        decision.land(loc, "main", decide)


def test_a_plan_that_does_not_fit_its_own_tip_is_a_conflict(loc: Location):
    with pytest.raises(ConflictError):
        decision.land(loc, "main", lambda _: Choice(make_plan(loc, upsert("a", "x\n", page("a", "Other.")))))


def gated(
    loc: Location, verdict: str, seen: list[LandingCandidate], *, lands: bool = True
) -> Settled[Choice]:
    def ask(what: LandingCandidate) -> GateVerdict:
        seen.append(what)
        return GateVerdict("accept" if verdict == "accept" else "inconclusive", verdict)

    gating = Gating(ask, lands=lands)
    return decision.land(loc, "main", lambda tip: choose(loc, tip, "Mine."), gating)


def test_a_gate_sees_the_very_commit_that_the_branch_moves_to(loc: Location):
    seen: list[LandingCandidate] = []
    old = loc.repo.ref("refs/heads/main")
    settled = gated(loc, "accept", seen)
    (what,) = seen
    assert (what.old, what.new, what.main) == (old, loc.repo.ref("refs/heads/main"), "main")
    assert (settled.commits, settled.branch, settled.verdict) == ((what.new,), "main", "accept")
    assert loc.repo.ref(f"refs/heads/{what.branch}") is None
    assert texts(loc, "main")["a"].endswith("- Mine.\n")
    assert git(loc.repo.place, "status", "--short") == ""


def test_what_is_not_accepted_waits_and_may_be_decided_again(loc: Location):
    seen: list[LandingCandidate] = []
    old = loc.repo.ref("refs/heads/main")
    for _ in range(2):
        with pytest.raises(
            HeldError, match="the gate says inconclusive: who knows; it waits on train/undo-"
        ) as caught:
            gated(loc, "who knows", seen)
        assert (caught.value.exit_code, caught.value.as_json()["decision"]) == (2, "inconclusive")
        assert loc.repo.ref("refs/heads/main") == old
        assert loc.repo.ref(f"refs/heads/{caught.value.branch}") == seen[-1].new
    assert gated(loc, "accept", seen).branch == "main"


def test_what_is_not_to_land_waits(loc: Location):
    seen: list[LandingCandidate] = []
    settled = gated(loc, "accept", seen, lands=False)
    assert (seen, settled.branch[:11]) == ([], "train/undo-")
    assert loc.repo.ref(f"refs/heads/{settled.branch}") == settled.commits[0]


def test_a_branch_that_moves_while_the_gate_measures_is_measured_again(loc: Location):
    seen: list[str] = []

    def ask(what: LandingCandidate) -> GateVerdict:
        if not seen:
            commit(loc, [choose(loc, what.old, "Theirs.").plan], "main")
        seen.append(what.old)
        return GateVerdict("accept")

    settled = decision.land(loc, "main", lambda tip: choose(loc, tip, "Mine."), Gating(ask))
    assert len(seen) == 2
    assert settled.commits == (loc.repo.ref("refs/heads/main"),)
    assert texts(loc, "main")["a"].endswith("- Theirs.\n- Mine.\n")


def test_what_lands_without_a_measurement_says_why(loc: Location):
    gating = Gating(ungated="in a hurry")
    settled = decision.land(loc, "main", lambda tip: choose(loc, tip, "Mine."), gating)
    (path,) = evidence.listing(loc, "gates")
    record = gate_record.read(loc, path)
    assert record is not None
    assert (record.candidate, record.decided_by, record.reason) == (settled.commits[0], "none", "in a hurry")


def test_nothing_lands_of_which_it_cannot_be_recorded_that_nothing_was_measured(
    loc: Location, monkeypatch: pytest.MonkeyPatch
):
    add, old = evidence.add, loc.repo.ref("refs/heads/main")

    def full(loc: Location, files: Sequence[EvidenceFile], *args: object, **more: object) -> object:
        if any(file.path.startswith("gates/") for file in files):
            raise RepositoryError("the disk is full")
        return add(loc, files, *args, **more)

    monkeypatch.setattr(evidence, "add", full)
    with pytest.raises(RepositoryError, match="full"):
        decision.land(loc, "main", lambda tip: choose(loc, tip, "Mine."), Gating(ungated="in a hurry"))
    assert loc.repo.ref("refs/heads/main") == old
    assert loc.repo.refs("refs/heads/train/") == {}


def held(loc: Location) -> str:
    with pytest.raises(HeldError) as caught:
        gated(loc, "who knows", [])
    return caught.value.branch


def commit_there(loc: Location, branch: str) -> str:
    """Commit to a branch as a person does, and leave it checked out."""
    git(loc.repo.place, "switch", "-q", branch)
    git(loc.repo.place, "commit", "-q", "--allow-empty", "-m", "Mine, too")
    return git(loc.repo.place, "rev-parse", "HEAD").strip()


@pytest.mark.parametrize("lands", [True, False])
def test_a_candidate_that_somebody_works_on_stays_theirs(loc: Location, lands):
    branch = held(loc)
    theirs = commit_there(loc, branch)
    with pytest.raises(RefusedError, match="is checked out in"):
        gated(loc, "accept", [], lands=lands)
    git(loc.repo.place, "switch", "-q", "main")
    with pytest.raises(RefusedError, match="somebody has committed to since"):
        gated(loc, "accept", [], lands=lands)
    assert loc.repo.ref(f"refs/heads/{branch}") == theirs


def test_a_candidate_whose_commit_was_amended_stays_theirs(loc: Location):
    branch = held(loc)
    git(loc.repo.place, "switch", "-q", branch)
    (loc.repo.place / "experiences" / "a.md").write_text("Mine.\n")
    git(loc.repo.place, "commit", "-q", "-a", "--amend", "--no-edit")
    git(loc.repo.place, "switch", "-q", "main")
    with pytest.raises(RefusedError, match="somebody has committed to since"):
        gated(loc, "accept", [])


def test_a_candidate_that_waits_on_an_older_tip_is_made_anew(loc: Location):
    branch = held(loc)
    git(loc.repo.place, "commit", "-q", "--allow-empty", "-m", "Go on")
    tip = loc.repo.ref("refs/heads/main")
    settled = gated(loc, "", [], lands=False)
    assert settled.branch == branch
    assert loc.repo.commit(settled.commits[0]).parents == (tip,)
    assert loc.repo.ref(f"refs/heads/{branch}") == settled.commits[0]


@pytest.mark.parametrize("to", ["main", "main~1"])
def test_a_branch_that_a_killed_try_left_without_a_commit_is_free(loc: Location, to: str):
    branch = held(loc)
    git(loc.repo.place, "branch", "-f", branch, to)
    assert gated(loc, "accept", []).branch == "main"
    assert texts(loc, "main")["a"].endswith("- Mine.\n")
    assert loc.repo.refs("refs/heads/train/") == {}


def test_who_decides_the_same_at_the_same_moment_is_in_nobodys_way(
    loc: Location, monkeypatch: pytest.MonkeyPatch
):
    branch, real = held(loc), publish.publish
    git(loc.repo.place, "commit", "-q", "--allow-empty", "-m", "Go on")

    def moved_before(repo: Repo, objects: Sequence[GitObject], moves: Sequence[Move]) -> bool:
        if moves[0].reason == "xp: decided anew":
            git(loc.repo.place, "branch", "-f", branch, "main")
        return real(repo, objects, moves)

    monkeypatch.setattr(publish, "publish", moved_before)
    assert gated(loc, "accept", []).branch == "main"


@pytest.mark.parametrize("change", ["deleted", "moved"])
def test_a_candidate_that_changes_while_the_gate_measures_is_one_error(loc: Location, change):
    old = loc.repo.ref("refs/heads/main")

    def ask(what: LandingCandidate) -> GateVerdict:
        if change == "deleted":
            git(loc.repo.place, "branch", "-D", what.branch)
        else:
            commit_there(loc, what.branch)
            git(loc.repo.place, "switch", "-q", "main")
        return GateVerdict("accept")

    with pytest.raises(RefusedError, match=f"was {change} meanwhile; main stays"):
        decision.land(loc, "main", lambda tip: choose(loc, tip, "Mine."), Gating(ask))
    assert loc.repo.ref("refs/heads/main") == old
    assert len(loc.repo.refs("refs/heads/train/")) == (change == "moved")


def test_a_candidate_that_is_checked_out_while_the_gate_measures_stays(loc: Location):
    def ask(what: LandingCandidate) -> GateVerdict:
        git(loc.repo.place, "switch", "-q", what.branch)
        return GateVerdict("accept")

    settled = decision.land(loc, "main", lambda tip: choose(loc, tip, "Mine."), Gating(ask))
    assert set(loc.repo.refs("refs/heads/train/").values()) == {settled.commits[0]}
    assert loc.repo.ref("refs/heads/main") == settled.commits[0]
    assert git(loc.repo.place, "status", "--short") == ""


@pytest.mark.parametrize("error", [KeyboardInterrupt, UsageError("no such environment")])
def test_a_gate_that_does_not_answer_leaves_no_branch(loc: Location, error):
    def ask(_: LandingCandidate) -> GateVerdict:
        raise error

    with pytest.raises((KeyboardInterrupt, UsageError)):
        decision.land(loc, "main", lambda tip: choose(loc, tip, "Mine."), Gating(ask))
    assert loc.repo.refs("refs/heads/train/") == {}
    branch = held(loc)
    with pytest.raises((KeyboardInterrupt, UsageError)):
        decision.land(loc, "main", lambda tip: choose(loc, tip, "Mine."), Gating(ask))
    assert list(loc.repo.refs("refs/heads/train/")) == [f"refs/heads/{branch}"]  # it waited before


def test_a_candidate_that_only_a_remote_has_is_not_built_upon(loc: Location):
    branch = held(loc)
    git(loc.repo.place, "remote", "add", "origin", str(loc.repo.place))
    theirs = commit_there(loc, branch)
    git(loc.repo.place, "switch", "-q", "main")
    git(loc.repo.place, "update-ref", f"refs/remotes/origin/{branch}", theirs)
    git(loc.repo.place, "branch", "-D", branch)
    settled = gated(loc, "accept", [])
    assert settled.commits == (loc.repo.ref("refs/heads/main"),)
    assert loc.repo.commit(settled.commits[0]).parents[0] != theirs
