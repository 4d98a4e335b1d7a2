from __future__ import annotations

import asyncio

from tests.trainer.doubles import page
from trainer.components.policy_optimizer import PatchMergePolicyOptimizer
from trainer.context import PatchMergePolicyOptimizerContext
from trainer.offline.merger import StatementMerger
from trainer.patch_merge import MergeOperation, MergeOutcome, MergeRefusal
from trainer.plan_parts import independent_parts
from xpstore.experience import Experience, ExperienceSet, MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.settings import DuplicateSettings

CONTEXT = PatchMergePolicyOptimizerContext(run_id="r1")


def policy(**texts):
    pages = tuple(Experience(name=n, text=t, version=3) for n, t in sorted(texts.items()))
    return ExperienceSet(root_uri="", policies=pages, snapshot_id="c" * 40)


def gradient(name, before, after, *, confidence=0.5, uri="trajectories/aa/x.md", supersedes=()):
    return PatchSemanticGradient(
        before_file=MemoryFile(name=name, content=before) if before is not None else None,
        after_file=MemoryFile(name=name, content=after) if after is not None else None,
        rationale="why",
        evidence_trajectory_uris=(uri,),
        supersedes=supersedes,
        confidence=confidence,
    )


def plan(gradients, policy_set, merger=None, context=CONTEXT):
    optimizer = PatchMergePolicyOptimizer(merger or StatementMerger())
    return asyncio.run(optimizer.plan(gradients, policy_set, context))


def test_no_gradients_no_items():
    assert plan([], policy()).items == ()


def test_edits_of_one_page_are_merged_into_one_item():
    old = page("a", "one")
    edits = [
        gradient("a", old, page("a", "one\n- two"), confidence=0.4, uri="trajectories/aa/1.md"),
        gradient("a", old, page("a", "one\n- three"), confidence=0.9, uri="trajectories/aa/2.md"),
    ]
    made = plan(edits, policy(a=old))
    (item,) = made.items
    assert item.after_content == page("a", "one\n- two\n- three")
    assert item.before_content == old
    assert item.base_version == 3
    assert item.confidence == 0.9
    assert item.evidence_trajectory_uris == ("trajectories/aa/1.md", "trajectories/aa/2.md")
    assert made.base_commit == "c" * 40
    assert len(made.gradients) == 2


def test_an_edit_computed_on_an_older_page_keeps_what_came_since():
    old = page("a", "one")
    made = plan([gradient("a", old, page("a", "one\n- two"))], policy(a=page("a", "one\n- human")))
    assert "human" in made.items[0].after_content
    assert "two" in made.items[0].after_content


def test_an_edit_that_changes_nothing_is_no_item():
    old = page("a", "one")
    assert plan([gradient("a", old, old)], policy(a=old)).items == ()


def test_a_deletion_is_an_item():
    old = page("a", "one")
    (item,) = plan([gradient("a", old, None)], policy(a=old)).items
    assert (item.kind, item.after_content) == ("delete_experience", None)


def test_a_superseded_page_goes_only_when_nothing_of_it_is_lost():
    old = page("old", "one")
    whole = gradient("a", None, page("a", "one\n- two"), supersedes=("old",))
    partial = gradient("a", None, page("a", "two"), supersedes=("old",))
    kinds = {i.target_experience_name: i.kind for i in plan([whole], policy(old=old)).items}
    assert kinds == {"a": "upsert_experience", "old": "delete_experience"}
    kept = plan([partial], policy(old=old))
    assert [i.target_experience_name for i in kept.items] == ["a"]
    assert "one" in kept.metadata["refused"]["old"]


def test_what_was_refused_is_named_and_its_gradients_are_not_claimed():
    class Refuses:
        async def merge(self, context):
            return MergeOutcome(refused=(MergeRefusal(name="a", reason="contradiction"),))

    made = plan([gradient("a", None, page("a", "one"))], policy(), Refuses())
    assert made.items == ()
    assert made.gradients == ()
    assert made.metadata == {"refused": {"a": "contradiction"}}


LESSON = "Ask for the order number and the zip code before you cancel anything."


def test_what_another_page_says_already_is_named_in_the_plan():
    edits = [gradient("new", None, page("new", LESSON)), gradient("fine", None, page("fine", "else"))]
    made = plan(edits, policy(refund=page("refund", LESSON)))
    (one,) = made.metadata["duplicates"]
    assert (one["kind"], one["page"], one["other"]) == ("page", "new", "refund")
    assert len(made.items) == len(made.gradients) == 2


def test_it_is_refused_where_the_store_says_so_and_the_rest_is_planned():
    gone = gradient("new", None, page("new", f"{LESSON}\n- old lesson"), supersedes=("old",))
    edits = [gone, gradient("fine", None, page("fine", "else"))]
    settings = DuplicateSettings(action="refuse", threshold=0.7)
    context = PatchMergePolicyOptimizerContext(run_id="r1", duplicates=settings)
    there = policy(refund=page("refund", LESSON), old=page("old", "old lesson"))
    made = plan(edits, there, context=context)
    assert [i.target_experience_name for i in made.items] == ["fine"]
    assert [g.target_experience_name for g in made.gradients] == ["fine"]
    assert "refund" in made.metadata["refused"]["new"]
    nobody = PatchMergePolicyOptimizerContext(duplicates=DuplicateSettings(action="ignore"))
    assert "duplicates" not in plan(edits, there, context=nobody).metadata


class Unites:
    """A merger that moves what an edit of `new` says to another page, and deletes a third."""

    async def merge(self, context):
        (patch,) = context.patches
        return MergeOutcome(
            operations=(
                MergeOperation(
                    kind="upsert", name="b", content=page("b", LESSON), gradients=(patch.gradient,)
                ),
                MergeOperation(kind="delete", name="old", gradients=(patch.gradient,)),
            ),
            fallbacks=(MergeRefusal(name="new", reason="refused twice"),),
        )


def test_an_item_knows_the_gradients_that_came_to_it_from_other_targets():
    edit = gradient("new", None, page("new", LESSON), confidence=0.7)
    there = policy(b=page("b", "x"), old=page("old", "y"))
    made = plan([edit], there, Unites())
    assert [i.metadata["gradients"] for i in made.items] == [[edit.id], [edit.id]]
    assert {i.confidence for i in made.items} == {0.7}
    assert made.metadata["fallbacks"] == {"new": "refused twice"}
    assert len(independent_parts(made)) == 1


def test_what_belongs_together_is_refused_together():
    edit = gradient("new", None, page("new", LESSON))
    there = policy(b=page("b", "x"), old=page("old", "y"), refund=page("refund", LESSON))
    context = PatchMergePolicyOptimizerContext(duplicates=DuplicateSettings(action="refuse", threshold=0.7))
    made = plan([edit], there, Unites(), context)
    assert (made.items, made.gradients) == ((), ())
    assert made.metadata["refused"]["old"] == "it belongs together with b"
    assert set(made.metadata["refused"]) == {"b", "old", "new"}


def test_of_new_pages_that_are_twins_the_first_is_planned_and_the_rest_with_it():
    names = ("strasse", "stra\N{LATIN SMALL LETTER SHARP S}e", "Old", "fine")
    edits = [gradient(name, None, page(name, f"look at {name}")) for name in names]
    made = plan(edits, policy(old=page("old", "one")))
    assert sorted(i.target_experience_name for i in made.items) == ["fine", "strasse"]
    assert sorted(g.target_experience_name for g in made.gradients) == ["fine", "strasse"]
    assert made.metadata["refused"] == {
        names[1]: "it would be the twin of strasse",
        "Old": "it would be the twin of old",
    }
