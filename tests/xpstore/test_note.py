from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xpstore import note
from xpstore.errors import DocumentError, FormatError
from xpstore.trajectory import OUTCOMES, Trajectory

TEXT = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=40)


@settings(max_examples=60, deadline=None)
@given(
    st.builds(
        Trajectory,
        name=TEXT,
        content=st.lists(TEXT | st.just("---"), max_size=4).map("\n".join),
        outcome=st.sampled_from(OUTCOMES),
        retrieval_anchor=TEXT | st.sampled_from(["2024-01-01", "yes", "a: b # c", "- x"]),
        rollout=st.text("0123456789abcdef", min_size=20, max_size=20),
        metadata=st.dictionaries(
            TEXT, TEXT | st.integers() | st.none() | st.lists(TEXT, max_size=2), max_size=2
        ),
    )
)
def test_note_is_read_back_as_it_was(trajectory: Trajectory) -> None:
    text = note.to_text(trajectory)
    again = note.from_text(text, "x.md")
    assert again == trajectory
    assert again.id == trajectory.id


def test_note_reads_like_markdown() -> None:
    trajectory = Trajectory(
        name="refund",
        content="# What happened\n",
        outcome="failure",
        retrieval_anchor="a refund",
        rollout="ab",
    )
    assert note.to_text(trajectory) == (
        "---\nname: refund\noutcome: failure\nretrieval_anchor: a refund\nrollout: ab\n---\n# What happened\n"
    )


@pytest.mark.parametrize("text", ["no front matter", "---\nname: x\n---\nbody", "---\nname: [\n---\n"])
def test_other_files_are_named(text: str) -> None:
    with pytest.raises((FormatError, DocumentError), match=r"x\.md"):
        note.from_text(text, "x.md")
