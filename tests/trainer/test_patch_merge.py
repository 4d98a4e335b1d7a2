from __future__ import annotations

import asyncio
import logging

from tests.trainer.doubles import page
from trainer.patch_merge import PatchMergeContextProvider, PatchMergePatch
from xpstore.experience import Experience, ExperienceSet, MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.search import Hit


def policy(*names):
    pages = (Experience(name=n, text=page(n, f"Check the {n} before you answer.")) for n in names)
    return ExperienceSet(root_uri="experiences", policies=tuple(pages))


def patch(before=None, after=None, name="a", **fields):
    gradient = PatchSemanticGradient(
        before_file=MemoryFile(name=name, content=before) if before is not None else None,
        after_file=MemoryFile(name=name, content=after) if after is not None else None,
        rationale="why",
        confidence=0.5,
        **fields,
    )
    return PatchMergePatch.from_gradient(gradient)


def prefetch(patches, policy_set, similarity=None):
    return asyncio.run(PatchMergeContextProvider(patches, policy_set, similarity).prefetch())


def test_only_fields_that_changed_are_shown():
    before = "---\nname: a\nstatus: draft\n---\n\n- one\n- two\n"
    after = "---\nname: a\nstatus: production\n---\n\n- one\n- three\n"
    diffs = patch(before, after).field_diffs()
    assert list(diffs) == ["status", "content"]
    assert "-draft" in diffs["status"]
    assert "+production" in diffs["status"]
    assert "-- two" in diffs["content"]
    assert "+- three" in diffs["content"]


def test_lists_and_tables_are_compared_as_json():
    before = "---\ntags: [a, b]\nlimits: {x: 1}\n---\n"
    after = "---\ntags: [a, c]\nlimits: {x: 2}\n---\n"
    diffs = patch(before, after).field_diffs()
    assert '-  "b"' in diffs["tags"]
    assert '+  "c"' in diffs["tags"]
    assert '+  "x": 2' in diffs["limits"]


def test_a_new_file_is_all_additions_and_a_deletion_all_removals():
    new, gone = patch(after="- one\n"), patch(before="- one\n")
    assert "+- one" in new.field_diffs()["content"]
    assert "-- one" in gone.field_diffs()["content"]


def test_the_content_stands_once_in_what_a_merger_reads():
    lesson = "A sentence that is in no other page."
    context = prefetch([patch(after=page("a", lesson))], policy())
    assert context.render().count(lesson) == 1


def test_targets_and_superseded_pages_are_required():
    context = prefetch([patch(after=page("a", "x"), supersedes=("b",))], policy("a", "b", "c"))
    assert [f.name for f in context.required_files] == ["a", "b"]
    assert "b" not in [f.name for f in context.candidate_files]


def test_candidates_are_looked_for_also_when_every_patch_is_an_update_and_bounded():
    names = [f"refund-{chr(97 + n)}" for n in range(12)]
    everything = policy("refund", *names)
    update = patch(
        before=everything.get("refund").text, after=page("refund", "Check the refund."), name="refund"
    )
    context = prefetch([update], everything)
    assert len(context.candidate_files) == 5  # max(5, one required file)
    assert "refund" not in [f.name for f in context.candidate_files]


def test_input_is_traced_off_the_console(caplog, capsys):
    with caplog.at_level(logging.DEBUG, logger="xpstore.trace.merge"):
        prefetch([patch(after="- traced lesson\n")], policy())
    assert "traced lesson" in caplog.text
    assert capsys.readouterr() == ("", "")


def test_each_target_is_looked_for_by_itself_in_a_batch_of_many():
    """One page is like one edit of a batch, and next to nothing is like all edits together."""
    words = ["apples", "bicycles", "curtains", "dolphins", "engines", "feathers", "guitars", "harbours"]
    pages = [Experience(name=w, text=page(w, f"Count the {w} {w} of {w}.")) for w in words]
    edits = [patch(after=page(f"new-{w}", f"Count all the {w} {w} of {w}."), name=f"new-{w}") for w in words]
    context = prefetch(edits, ExperienceSet(root_uri="", policies=tuple(pages)))
    assert len(context.candidate_files) == 5
    assert {context.near[f"new-{f.name}"][0] for f in context.candidate_files} == {
        f.name for f in context.candidate_files
    }
    assert context.names == frozenset(words)


def test_edits_of_new_pages_are_near_each_other_and_a_similarity_can_be_given():
    one, two = (patch(after=page(n, "Look at the bill twice."), name=n) for n in ("one", "two"))
    assert prefetch([one, two], policy()).near == {"one": ("two",), "two": ("one",)}

    class Meaning:
        by_meaning = True

        async def nearest(self, texts, pages, limit):
            return {name: [Hit(other, 0.9) for other in pages if other != name] for name in texts}

    context = prefetch([patch(after=page("a", "x"))], policy("z"), Meaning())
    assert context.by_meaning
    assert [f.name for f in context.candidate_files] == ["z"]


def test_what_is_to_be_deleted_is_looked_for_as_well():
    old = policy("refund", "refunds")
    gone = patch(before=old.get("refund").text, name="refund")
    assert prefetch([gone], old).near["refund"] == ("refunds",)
