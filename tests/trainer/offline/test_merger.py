from __future__ import annotations

import asyncio

from tests.trainer.doubles import page
from trainer.offline.merger import StatementMerger
from trainer.patch_merge import PatchMergeContextProvider, PatchMergePatch
from xpstore.experience import Experience, ExperienceSet, MemoryFile
from xpstore.gradient import PatchSemanticGradient


def edit(before, after, *, name="a", supersedes=()):
    return PatchSemanticGradient(
        before_file=None if before is None else MemoryFile(name=name, content=before),
        after_file=None if after is None else MemoryFile(name=name, content=after),
        rationale="why",
        supersedes=supersedes,
        confidence=0.5,
    )


def merge(*gradients, **current):
    pages = tuple(Experience(name=n, text=t) for n, t in current.items())
    patches = [PatchMergePatch.from_gradient(g) for g in gradients]
    provider = PatchMergeContextProvider(patches, ExperienceSet(root_uri="", policies=pages))

    async def merged():
        return await StatementMerger().merge(await provider.prefetch())

    return asyncio.run(merged())


def test_every_block_of_a_new_page_is_kept():
    outcome = merge(
        edit(None, page("a", "one")), edit(None, page("a", "two")), edit(None, page("a", "three"))
    )
    (operation,) = outcome.operations
    assert operation.content == page("a", "one\n- two\n- three")


def test_a_persons_line_survives_an_update():
    old = page("a", "learned")
    outcome = merge(edit(old, page("a", "learned better")), a=page("a", "learned\n- by hand"))
    assert "by hand" in outcome.operations[0].content
    assert "learned better" in outcome.operations[0].content


def test_a_page_that_somebody_deleted_does_not_come_back():
    outcome = merge(edit(page("a", "one"), page("a", "two")))
    assert outcome.operations == ()
    assert [r.name for r in outcome.refused] == ["a"]


def test_a_contradiction_refuses_its_target_only():
    old = page("a", "IF the order is open call `cancel`.")
    outcome = merge(
        edit(None, page("b", "one"), name="b"),
        edit(old, page("a", "IF the order is open do not call `cancel`.")),
        edit(old, page("a", "IF the order is open call `cancel` at once.")),
        a=old,
    )
    assert "b" in {o.name for o in outcome.operations}
    assert {o.name for o in outcome.operations} | {r.name for r in outcome.refused} == {"a", "b"}


def test_every_patch_is_in_an_operation_or_refused():
    outcome = merge(
        edit(None, page("new", "one"), name="new"),
        edit(page("gone", "x"), None, name="gone"),
        gone=page("gone", "x"),
    )
    assert {o.name: o.kind for o in outcome.operations} == {"new": "upsert", "gone": "delete"}


def test_superseding_needs_a_place_for_every_statement():
    old = page("old", "one\n- two")
    kept = merge(edit(None, page("a", "one"), supersedes=("old",)), old=old)
    assert [r.name for r in kept.refused] == ["old"]
    assert "two" in kept.refused[0].reason
    gone = merge(edit(None, page("a", "one\n- two"), supersedes=("old",)), old=old)
    assert {o.name: o.kind for o in gone.operations} == {"a": "upsert", "old": "delete"}


def test_a_page_that_one_edit_changes_and_another_replaces_stays_as_it_is():
    old = page("old", "one")
    outcome = merge(
        edit(old, page("old", "one\n- two"), name="old"),
        edit(None, page("a", "one"), supersedes=("old",)),
        edit(None, page("b", "one"), name="b", supersedes=("old",)),
        old=old,
    )
    assert {o.name: o.kind for o in outcome.operations} == {"a": "upsert", "b": "upsert"}
    assert [r.name for r in outcome.refused] == ["old"]


def test_a_page_that_two_edits_replace_goes_once():
    edits = [edit(None, page(name, "one"), name=name, supersedes=("old",)) for name in ("a", "b")]
    outcome = merge(*edits, old=page("old", "one"))
    assert [o.name for o in outcome.operations] == ["a", "old", "b"]
