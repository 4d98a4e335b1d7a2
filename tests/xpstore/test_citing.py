from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import make_plan, make_store, page, upsert
from xpstore import citing
from xpstore.commit import commit
from xpstore.errors import NotFoundError
from xpstore.evidence import case_file, ledger_file, rollout_file, trajectory_file, write
from xpstore.experience import MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.hashing import content_id
from xpstore.note import to_text
from xpstore.plan import RolloutRef
from xpstore.trajectory import Trajectory

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location

R1, R2, R3 = content_id(1), content_id(2), content_id(3)
CASE = {"name": "broken lamp"}
CASE_ID = content_id(CASE)
NOTE = Trajectory(name="n", content="", outcome="failure", retrieval_anchor="x", rollout=R1)
OTHER = Trajectory(name="o", content="", outcome="failure", retrieval_anchor="y", rollout=R1)


@pytest.fixture
def world(tmp_path: Path) -> tuple[Location, dict[str, str]]:
    """Three rollouts of two sessions; plan a rests on the first, b on the first two, c on the third."""
    loc = make_store(tmp_path / "s")
    files = [trajectory_file(t.id, to_text(t)) for t in (NOTE, OTHER)]
    files.append(case_file(CASE_ID, CASE))
    for rollout, session in ((R1, "monday-1"), (R2, "monday-1"), (R3, "monday-2")):
        metadata = {"session": session}
        case = CASE if rollout != R3 else {"name": "else"}
        files.append(rollout_file(rollout, {"case": case, "messages": [], "metadata": metadata}))
        files.append(ledger_file(rollout, {"event": "received", "case": content_id(case)}))
    write(loc, files, "Receive")
    plans = {}
    for name, rollouts, uri in (("a", (R1,), NOTE.uri), ("b", (R1, R2), ""), ("c", (R3,), "")):
        gradient = PatchSemanticGradient(
            before_file=None,
            after_file=MemoryFile(name=name, content=page(name)),
            rationale="Why.",
            confidence=0.5,
            rollouts=rollouts,
            evidence_trajectory_uris=(uri,) if uri else (),
        )
        cited = tuple(RolloutRef(id=r, case="broken lamp" if r != R3 else "else") for r in rollouts)
        plan = make_plan(loc, upsert(name, page(name)), gradients=(gradient,), rollouts=cited)
        commit(loc, [plan], "main")
        plans[plan.plan_id] = name
    return loc, plans


@pytest.mark.parametrize(
    ("what", "kind", "names"),
    [
        (R1[:5], "rollout", "ab"),
        (R2, "rollout", "b"),
        (NOTE.id[:8], "trajectory", "a"),
        (NOTE.uri, "trajectory", "a"),
        (OTHER.id, "trajectory", ""),
        (CASE_ID[:6], "case", "ab"),
        ("broken lamp", "case", "ab"),
        ("else", "case", "c"),
        ("monday-1", "session", "ab"),
        ("monday-2", "session", "c"),
    ],
)
def test_evidence_is_found_with_the_plans_that_rest_on_it(world, what: str, kind: str, names: str):
    loc, plans = world
    cited = citing.find(loc, what)
    assert (cited.kind, "".join(sorted(plans[p] for p in cited.plans))) == (kind, names)


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("monday", "short for 2: session monday-1, session monday-2"),
        ("broken", "there is no"),
        ("", "there is no"),
        ("--all", "there is no"),
        ("ffffffff", "there is no"),
        ("\udce9", "there is no"),
        ("a\nb", "there is no"),
    ],
)
def test_what_is_unknown_or_ambiguous_is_an_error(world, what: str, says: str):
    loc, _ = world
    with pytest.raises(NotFoundError, match=says):
        citing.find(loc, what)


def test_a_store_without_evidence_has_none(tmp_path: Path):
    with pytest.raises(NotFoundError):
        citing.find(make_store(tmp_path / "s"), "monday")
