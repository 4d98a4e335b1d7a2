from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.builders import make_plan, make_store, page, texts, upsert
from xpstore import decision
from xpstore.commit import commit
from xpstore.errors import ConflictError, RepositoryError
from xpstore.snapshot import snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location
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

    made, (sha,) = decision.land(loc, "main", decide)
    assert len(seen) == 2
    assert (made.plan.base_commit, sha) == (seen[1], loc.repo.ref("refs/heads/main"))
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
