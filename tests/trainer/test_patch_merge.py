from __future__ import annotations

import logging

from tests.trainer.doubles import page
from trainer.patch_merge import PatchMergeContextProvider, PatchMergePatch
from xpstore.experience import Experience, ExperienceSet, MemoryFile
from xpstore.gradient import PatchSemanticGradient


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
    provider = PatchMergeContextProvider([patch(after=page("a", lesson))], policy())
    assert provider.prefetch().render().count(lesson) == 1


def test_targets_and_superseded_pages_are_required():
    provider = PatchMergeContextProvider(
        [patch(after=page("a", "x"), supersedes=("b",))], policy("a", "b", "c")
    )
    context = provider.prefetch()
    assert [f.name for f in context.required_files] == ["a", "b"]
    assert "b" not in [f.name for f in context.candidate_files]


def test_candidates_are_looked_for_also_when_every_patch_is_an_update_and_bounded():
    names = [f"refund-{chr(97 + n)}" for n in range(12)]
    everything = policy("refund", *names)
    update = patch(
        before=everything.get("refund").text, after=page("refund", "Check the refund."), name="refund"
    )
    context = PatchMergeContextProvider([update], everything).prefetch()
    assert len(context.candidate_files) == 5  # max(5, one required file)
    assert "refund" not in [f.name for f in context.candidate_files]


def test_input_is_traced_off_the_console(caplog, capsys):
    with caplog.at_level(logging.DEBUG, logger="xpstore.trace.merge"):
        PatchMergeContextProvider([patch(after="- traced lesson\n")], policy()).prefetch()
    assert "traced lesson" in caplog.text
    assert capsys.readouterr() == ("", "")
