"""What somebody taught or wrote is in the store afterwards, or whoever wanted to write over it is told."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from tests.builders import ROLLOUT, git, make_plan, make_store, page, texts, upsert
from tests.e2e.bad import Xp
from trainer.components.policy_optimizer import PatchMergePolicyOptimizer
from trainer.components.policy_updater import GitPolicyUpdater
from trainer.context import ApplyContext, PatchMergePolicyOptimizerContext
from trainer.offline.merger import StatementMerger
from trainer.patch_merge import MergeOutcome
from trainer.store_door import StoreDoor
from xpstore import evidence, layout
from xpstore.by_hand import TakeSide
from xpstore.commit import commit
from xpstore.errors import ConflictError, RefusedError
from xpstore.experience import MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.hashing import content_id
from xpstore.landing import land
from xpstore.location import Location
from xpstore.merge import merge
from xpstore.plan import RolloutRef
from xpstore.record import plan_from
from xpstore.resolution import resolve
from xpstore.resolver import Claim, Resolution
from xpstore.revert import revert
from xpstore.snapshot import snapshot

FIRST = page("refund", "Look first.")
CONTEXT = ApplyContext(run_id="r1", branch="main")


@pytest.fixture
def xp(capsys) -> Xp:
    return Xp(capsys)


@pytest.fixture(scope="module")
def taught(tmp_path_factory) -> Path:
    """A store with one page, which a plan has taught."""
    loc = make_store(tmp_path_factory.mktemp("taught") / "s")
    commit(loc, [make_plan(loc, upsert("refund", FIRST))], "main")
    return loc.repo.place


@pytest.fixture
def loc(taught, tmp_path) -> Location:
    return Location.find(Path(shutil.copytree(taught, tmp_path / "s")))


def gradient(before: str | None, after: str | None, name: str = "refund", **fields) -> PatchSemanticGradient:
    return PatchSemanticGradient(
        before_file=MemoryFile(name=name, content=before) if before is not None else None,
        after_file=MemoryFile(name=name, content=after) if after is not None else None,
        rationale="It helped.",
        confidence=0.9,
        rollouts=(ROLLOUT,),
        **fields,
    )


def learn(loc: Location, gradients, merger=None):
    """Plan and apply gradients as a training does; return the plan and the result."""

    async def both():
        policy = snapshot(loc, "main")
        optimizer = PatchMergePolicyOptimizer(merger or StatementMerger())
        plan = await optimizer.plan(gradients, policy, PatchMergePolicyOptimizerContext(run_id="r1"))
        door = StoreDoor(loc.repo.place)
        try:
            return plan, await GitPolicyUpdater(door).apply(plan, policy, CONTEXT)
        finally:
            door.close()

    return asyncio.run(both())


# -- one plan ------------------------------------------------------------------------------------------


def test_all_edits_of_one_page_in_one_batch_are_on_the_page_and_in_the_report(loc):
    rules = ["Ask why.", "Say how long it takes.", "Thank them."]
    _, result = learn(loc, [gradient(FIRST, page("refund", "Look first.", rule)) for rule in rules])
    assert texts(loc, "main")["refund"] == page("refund", "Look first.", *rules)
    assert [p.text for p in result.updated_policy_set.policies] == [page("refund", "Look first.", *rules)]
    assert (result.errors, result.written_uris) == ((), ("experiences/refund.md",))


def test_a_plan_with_two_results_for_one_page_is_refused_whole(loc):
    items = [upsert("refund", page("refund", "Look first.", rule), FIRST) for rule in ("One.", "Two.")]
    with pytest.raises(RefusedError, match="two items of the plan write one target"):
        commit(loc, [make_plan(loc, *items)], "main")
    assert texts(loc, "main") == {"refund": FIRST}


def test_a_new_page_that_comes_in_several_patches_has_all_of_them(loc):
    parts = [page("cancel", "Ask when."), page("cancel", "Ask why.") + "\n## Reflect\n\n- It was late.\n"]
    learn(loc, [gradient(None, part, "cancel") for part in parts])
    assert all(line in texts(loc, "main")["cancel"] for line in ("Ask when.", "Ask why.", "It was late."))


def test_fields_and_text_of_a_page_change_together_or_not_at_all(loc):
    after = page("refund", "Look twice.").replace("description:", "status: staging\ndescription:")
    learn(loc, [gradient(FIRST, after)])
    found = snapshot(loc, "main").by_name["refund"]
    assert (found.status, "Look twice." in found.content, found.text) == ("staging", True, after)
    git(loc.repo.place, "diff", "--exit-code")


def test_a_merger_that_answers_nothing_deletes_nothing(loc):
    """An edit may replace an older page; without an answer the older page stays."""

    class Silent:
        async def merge(self, context):
            del context
            return MergeOutcome()

    replaces = gradient(None, page("cancel", "Look first."), "cancel", supersedes=("refund",))
    plan, result = learn(loc, [replaces], Silent())
    assert (plan.items, result.deleted_uris) == ((), ())
    assert texts(loc, "main") == {"refund": FIRST}
    _, result = learn(loc, [replaces])
    assert result.deleted_uris == ("experiences/refund.md",)
    (sha,) = result.commits
    record = next(iter(evidence.records(loc, result.plans[0].plan_id).values()))
    said = {(item["kind"], item["target_experience_name"]) for item in record["items"]}
    names = git(loc.repo.place, "show", "--name-status", "--no-renames", "--format=", sha).splitlines()
    assert said == {("upsert_experience", "cancel"), ("delete_experience", "refund")}
    assert sorted(names) == ["A\texperiences/cancel.md", "D\texperiences/refund.md"]


# -- two writers ---------------------------------------------------------------------------------------


def test_two_sessions_that_read_the_same_page_both_leave_their_line(loc):
    plans = [
        make_plan(loc, upsert("refund", page("refund", "Look first.", line), FIRST), run_id=line)
        for line in ("One.", "Two.")
    ]
    for plan in plans:
        commit(Location.find(loc.repo.place), [plan], "main")
    assert texts(loc, "main")["refund"] == page("refund", "Look first.", "One.", "Two.")


def test_a_page_that_exists_is_never_replaced_by_one_that_was_to_be_made(loc):
    with pytest.raises(ConflictError):
        commit(loc, [make_plan(loc, upsert("refund", page("refund", "Do NOT look first.")))], "main")
    for name in ("Refund", "REFUND"):
        with pytest.raises(RefusedError, match="twin of 'refund'"):
            commit(loc, [make_plan(loc, upsert(name, page(name)))], "main")
    commit(loc, [make_plan(loc, upsert("café", page("café")))], "main")
    decomposed = loc.repo.place / "experiences" / "cafe\u0301.md"
    git(loc.repo.place, "switch", "-qc", "train/x")
    decomposed.write_text(page("cafe\u0301"))
    git(loc.repo.place, "add", ".")
    git(loc.repo.place, "commit", "-qm", "By hand")
    git(loc.repo.place, "switch", "-q", "main")
    with pytest.raises(RefusedError, match="caf"):
        land(loc, "train/x")
    assert texts(loc, "main") == {"refund": FIRST, "café": page("café")}


def test_a_person_who_edits_while_an_update_is_under_way_keeps_the_edit(loc):
    plan = make_plan(loc, upsert("refund", page("refund", "Look first.", "Taught."), FIRST))
    file = loc.repo.place / "experiences" / "refund.md"
    file.write_text(page("refund", "Look first.", "Mine."))
    with pytest.raises(RefusedError, match=r"local changes .*refund\.md"):
        commit(loc, [plan], "main")
    assert file.read_text() == page("refund", "Look first.", "Mine.")
    git(loc.repo.place, "commit", "-qam", "Mine")
    commit(loc, [plan], "main")
    assert file.read_text() == page("refund", "Look first.", "Mine.", "Taught.")
    assert git(loc.repo.place, "log", "-1", "--format=%s", "-S", "Mine.") == "Mine"


def test_a_page_that_a_person_deleted_does_not_come_back_with_an_update_under_way(loc):
    plan = make_plan(loc, upsert("refund", page("refund", "Look twice."), FIRST))
    git(loc.repo.place, "rm", "-q", "experiences/refund.md")
    git(loc.repo.place, "commit", "-qm", "Not this")
    with pytest.raises(ConflictError) as caught:
        commit(loc, [plan], "main")
    assert [(c.name, c.ours) for c in caught.value.conflicts] == [("refund", None)]
    assert texts(loc, "main") == {}


# -- merges --------------------------------------------------------------------------------------------

OURS = ("Always ask.", "Thank them.")
THEIRS = ("Never ask.", "Say why.")


class OneSide:
    """A resolver that takes one side and says that the other is not needed."""

    name = model = "one-side"

    def __init__(self, side: str) -> None:
        self.side = side

    def resolve(self, hunks, findings=()):
        del findings
        kept = [{s.text for s in hunk.of(self.side)} for hunk in hunks]
        claims = [
            Claim(s.number, "kept") if s.text in texts_ else Claim(s.number, "dropped", reason="not needed")
            for hunk, texts_ in zip(hunks, kept, strict=True)
            for s in hunk.statements
        ]
        return Resolution(tuple(tuple(s.text for s in hunk.of(self.side)) for hunk in hunks), tuple(claims))


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_a_choice_of_one_side_never_takes_away_what_is_not_in_conflict(side):
    """Lines that merge by themselves are no question: neither a model nor a person's choice drops them."""
    base, ours, theirs = (page("a", "Be short.", *more) for more in ((), OURS, THEIRS))
    assert merge(base, ours, theirs, "a.md").verdict == "REFUSED"
    taken = TakeSide(side)(base, ours, theirs, "a.md")
    assert "Thank them." in taken.text
    assert "Say why." in taken.text
    by_model = resolve(base, ours, theirs, OneSide(side), "a.md").text
    assert all(line in by_model for line in ("Be short.", "Thank them.", "Say why."))


# -- undoing -------------------------------------------------------------------------------------------


def test_undoing_spares_local_edits_and_what_was_learned_later(loc):
    wrong, later = (
        page("refund", "Look first.", "Shout."),
        page("refund", "Look first.", "Shout.", "Say why."),
    )
    commit(loc, [make_plan(loc, upsert("refund", wrong, FIRST), run_id="r2")], "main")
    bad = git(loc.repo.place, "rev-parse", "main")
    commit(loc, [make_plan(loc, upsert("cancel", page("cancel")))], "main")
    commit(loc, [make_plan(loc, upsert("refund", later, wrong), run_id="r3")], "main")
    version = {p.name: p.version for p in snapshot(loc, "main", versions=True).policies}["refund"]
    file = loc.repo.place / "experiences" / "cancel.md"
    file.write_text(page("cancel", "Mine, not committed."))
    revert(loc, bad, "main")
    assert file.read_text() == page("cancel", "Mine, not committed.")
    after = snapshot(loc, "main", versions=True).by_name["refund"]
    assert (after.text, after.version) == (page("refund", "Look first.", "Say why."), version + 1)


def test_an_edit_right_after_an_undo_meets_no_phantom_of_it(loc):
    wrong = page("refund", "Look first.", "Shout.")
    commit(loc, [make_plan(loc, upsert("refund", wrong, FIRST), run_id="r2")], "main")
    bad = git(loc.repo.place, "rev-parse", "main")
    revert(loc, bad, "main")
    with pytest.raises(RefusedError, match="already"):
        revert(loc, bad, "main")
    edited = page("refund", "Look first.", "Whisper.")
    commit(loc, [make_plan(loc, upsert("refund", edited, FIRST), run_id="r3")], "main")
    assert texts(loc, "main")["refund"] == edited


# -- evidence ------------------------------------------------------------------------------------------


def test_what_history_cites_is_there_for_every_commit_of_it(loc, xp):
    """Links must not dangle at an older commit; edits and deletions by hand are commits like the others."""
    data = {"case": {"name": "c"}, "messages": []}
    seen = RolloutRef(id=content_id(data), passed=True)
    evidence.write(loc, [evidence.rollout_file(seen.id, data)], "Receive")
    plan, _ = learn(
        loc, [gradient(FIRST, page("refund", "Look first.", "Ask."), evidence_trajectory_uris=())]
    )
    commit(loc, [make_plan(loc, upsert("more", page("more")), rollouts=(seen,))], "main")
    git(loc.repo.place, "rm", "-q", "experiences/refund.md")
    git(loc.repo.place, "commit", "-qm", "Drop it")
    commits = json.loads(xp(loc.repo.place, "log", "--json").out)["commits"]
    assert [c["changes"][0]["change"] for c in commits] == ["D", "A", "M", "A"]
    plans = [plan_from(loc, c["commit"]) for c in commits if c["plans"]]
    assert [p.rollouts for p in plans[:1]] == [(seen,)]
    assert {g.id for p in plans for g in p.gradients} == {g.id for g in plan.gradients}
    assert evidence.read(loc, layout.rollout_path(seen.id)) is not None


def test_a_page_does_not_grow_with_the_evidence_for_it(loc):
    """What it rests on is on record beside the plans, not in the page that agents read."""
    data = [{"case": {"name": "c"}, "messages": [number]} for number in range(22)]
    seen = [RolloutRef(id=content_id(d), passed=True) for d in data]
    text = page("refund", "Look first.", "Ask.")
    commit(loc, [make_plan(loc, upsert("refund", text, FIRST), rollouts=tuple(seen))], "main")
    assert texts(loc, "main")["refund"] == text
    assert len(plan_from(loc, git(loc.repo.place, "rev-parse", "main")).rollouts) == 22
    assert len(git(loc.repo.place, "log", "-1", "--format=%B", "main")) < 500
