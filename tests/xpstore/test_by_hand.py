from __future__ import annotations

import pytest

from xpstore.by_hand import Edited, TakeSide
from xpstore.errors import RefusedError

BASE = "## A\n\n- x\n- y\n"
OURS = "## A\n\n- x\n- Always ask.\n- y\n- o\n"
THEIRS = "## A\n\n- x\n- Never ask.\n- y\n- t\n"
OURS_TAKEN = "## A\n\n- x\n- Always ask.\n- y\n- o\n- t\n"


def test_taking_a_side_takes_it_only_where_the_sides_exclude_each_other():
    """Whole-file `--ours` would drop what theirs added elsewhere."""
    decider = TakeSide("ours")
    assert decider(BASE, OURS, THEIRS, "x.md").text == OURS_TAKEN
    assert decider.decided["x.md"].dropped == ("- Never ask.",)
    other = TakeSide("theirs")
    result = other(BASE, OURS, THEIRS, "x.md")
    assert result.text == OURS_TAKEN.replace("Always", "Never")
    assert {(e.text, e.side, e.fate) for e in result.account} == {
        ("- Always ask.", "ours", "dropped"),
        ("- Never ask.", "theirs", "kept"),
        ("- o", "ours", "kept"),
        ("- t", "theirs", "kept"),
    }
    assert other.decided["x.md"].dropped == ("- Always ask.",)


def test_what_merges_by_itself_is_not_decided():
    decider = TakeSide("ours")
    assert decider("- a\n", "- a\n- o\n", "- a\n- t\n", "x.md").text == "- a\n- o\n- t\n"
    assert decider.decided == {}


@pytest.mark.parametrize(("side", "text"), [("ours", None), ("theirs", "- b\n")])
def test_a_deleted_page_is_decided_as_a_file(side, text):
    decider = TakeSide(side)
    result = decider("- a\n", None, "- b\n", "x.md")
    assert (result.verdict, result.resolved_by, result.text) == ("VERIFIED", "person", text)
    assert decider.decided["x.md"].dropped == (("- b\n",) if side == "ours" else ())


def test_front_matter_is_taken_from_one_side():
    base, ours, theirs = (f"---\nname: x\nwhen: {w}\n---\n\n- a\n" for w in ("now", "later", "soon"))
    assert TakeSide("theirs")(base, ours, theirs, "x.md").text == theirs


def test_a_person_edits_between_markers_and_is_asked_once():
    shown: list[str] = []

    def edit(path: str, text: str) -> str:
        assert path == "x.md"
        shown.append(text)
        return OURS_TAKEN.replace("Always ask.", "Ask when in doubt.")

    decider = Edited(edit)
    for _ in range(2):
        assert decider(BASE, OURS, THEIRS, "x.md").text == OURS_TAKEN.replace(
            "Always ask.", "Ask when in doubt."
        )
    assert len(shown) == 1
    assert "<<<<<<< ours\n- Always ask.\n" in shown[0]
    assert decider.decided["x.md"].dropped == ("- Always ask.", "- Never ask.")


@pytest.mark.parametrize(
    ("give_up", "why"),
    [
        (lambda _, __: None, "nothing was saved"),
        (lambda _, text: text, "markers are left in it"),
        (lambda _, __: " \n", "it is empty"),
    ],
)
def test_a_person_may_give_up(give_up, why):
    decider = Edited(give_up)
    result = decider(BASE, OURS, THEIRS, "x.md")
    assert (result.verdict, result.text) == ("REFUSED", OURS)
    assert decider.left == {"x.md": why}


def test_a_page_that_one_side_deleted_is_shown_between_markers():
    """A merge with an empty page is clean; there must be something to decide all the same."""
    shown: list[str] = []

    def edit(_: str, text: str) -> str:
        shown.append(text)
        return "- a\n- b\n"

    result = Edited(edit)("- a\n", "- a\n- b\n", None, "x.md")
    assert shown == ["<<<<<<< ours\n- a\n- b\n=======\n>>>>>>> theirs deleted this page\n"]
    assert (result.verdict, result.text) == ("VERIFIED", "- a\n- b\n")
    result = Edited(lambda _, text: text)("- a\n", None, "- a\n- b\n", "x.md")
    assert result.verdict == "REFUSED"


@pytest.mark.parametrize(
    "text",
    [
        f"<<<<<<< ours\n{OURS_TAKEN}",
        f"---\nname: [\n---\n{OURS_TAKEN}",
        OURS_TAKEN.replace("- y", "- Never ask.\n- y"),
    ],
)
def test_what_a_person_writes_is_checked_too(text):
    with pytest.raises(RefusedError, match=r"x\.md") as caught:
        Edited(lambda _, __: text)(BASE, OURS, THEIRS, "x.md")
    assert "--take ours|theirs" in caught.value.hint


FRONT = "---\nname: x\n---\n\n"


@pytest.mark.parametrize("text", [OURS_TAKEN, f"\n{FRONT}{OURS_TAKEN}"])
def test_front_matter_that_an_editor_lost_is_refused(text):
    versions = [FRONT + version for version in (BASE, OURS, THEIRS)]
    with pytest.raises(RefusedError, match="the front matter is gone"):
        Edited(lambda _, __: text.replace("Always ask.", "Ask."))(*versions, "x.md")
    bare = Edited(lambda _, __: OURS_TAKEN)(versions[0], OURS, versions[2], "x.md")
    assert bare.text == OURS_TAKEN, "one side had none"


def test_a_page_whose_front_matter_was_broken_can_be_mended():
    whole, broken = f"{FRONT}- a\n- t\n", "---\nname: [\n---\n\n- a\n"
    asked = (f"{FRONT}- a\n", broken, whole, "x.md")
    assert Edited(lambda _, __: whole)(*asked).text == whole
    with pytest.raises(RefusedError, match="front matter"):
        Edited(lambda _, __: f"{broken}- t\n")(*asked)
