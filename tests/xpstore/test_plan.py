from __future__ import annotations

from tests.builders import delete, page, upsert
from xpstore.experience import MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.hashing import blob_id
from xpstore.plan import PolicyUpdatePlan

ITEM = upsert("a", page("a", "one"))


def plan(**fields):
    return PolicyUpdatePlan(**{"items": (ITEM,), "store_id": "s", "learner": "offline/1", **fields})


def gradient(lesson):
    return PatchSemanticGradient(
        before_file=None,
        after_file=MemoryFile(name="a", content=page("a", lesson)),
        rationale="why",
        confidence=0.5,
    )


def test_items_know_their_blobs():
    assert ITEM.target_experience_uri == "experiences/a.md"
    assert ITEM.base_blob == "0" * 40
    assert ITEM.result_blob == blob_id(ITEM.after_content)
    assert delete("a", "x").result_blob == "0" * 40


def test_the_plan_id_names_the_intention_not_the_circumstances():
    one = plan()
    assert one.plan_id == plan(base_commit="c" * 40, run_id="r", rationale="said otherwise").plan_id
    for other in (plan(store_id="t"), plan(learner="gpt/1"), plan(again=1), plan(reverts=("x",))):
        assert other.plan_id != one.plan_id


def test_with_gradients_a_merged_answer_does_not_change_the_plan_id():
    gradients = (gradient("one"), gradient("two"))
    one = plan(gradients=gradients)
    other = plan(gradients=gradients[::-1], items=(upsert("a", page("a", "one", "two")),))
    assert one.plan_id == other.plan_id
    assert one.digest != other.digest
    assert one.plan_id != plan(gradients=gradients[:1]).plan_id


def test_the_digest_is_of_what_lands():
    one = plan()
    assert one.digest == plan(base_commit="c" * 40).digest
    assert one.digest != plan(rationale="said otherwise").digest
    assert one.digest != plan(items=(upsert("a", page("a", "two")),)).digest


def test_a_second_undo_is_another_intention():
    first = plan(reverts=("p",), reverts_events=("c1",))
    assert first.plan_id != plan(reverts=("p",), reverts_events=("c2",)).plan_id
