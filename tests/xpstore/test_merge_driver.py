from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.xpstore.merge_rows import REFUSED, ROWS
from xpstore.merge import merge
from xpstore.merge_driver import drive


def driven(base: str, ours: str, theirs: str, size: int = 7) -> tuple[str, bool]:
    done = drive(base.encode(), ours.encode(), theirs.encode(), size)
    return done.data.decode(), done.is_clean


@pytest.mark.parametrize("row", ROWS)
def test_always_merged_text_or_markers_of_both_sides(row):
    base, ours, theirs, expected = ROWS[row]
    if ours is None or theirs is None:
        return  # git never asks about a deleted file
    text, is_clean = driven(base or "", ours, theirs)
    overlaps = merge(base, ours, theirs).overlaps
    assert is_clean == (expected != REFUSED and not overlaps)
    if is_clean:
        assert text == expected
    else:
        lines = text.split("\n")
        marks = [line[:7] for line in lines if line[:7] in {"<<<<<<<", "=======", ">>>>>>>"}]
        assert len(marks) >= 3
        said = {line.strip() for line in lines}
        assert {line.strip() for line in ours.split("\n")} & {
            line.strip() for line in theirs.split("\n")
        } <= said


def test_only_what_both_changed_is_between_markers():
    base = "---\nname: x\n---\n\n## A\n\n- one\n- two\n\n## B\n\n- b\n"
    ours = base.replace("- one", "- one o").replace("- b", "- b\n- bo")
    theirs = base.replace("- one", "- one t").replace("- two", "- two\n- more")
    text, is_clean = driven(base, ours, theirs)
    assert not is_clean
    assert text == (
        "---\nname: x\n---\n\n## A\n\n"
        "<<<<<<< ours\n- one o\n||||||| base\n- one\n=======\n- one t\n>>>>>>> theirs\n"
        "- two\n- more\n\n## B\n\n- b\n- bo\n"
    )


def test_opposite_commands_are_marked():
    text, is_clean = driven("- x\n", "- x\n- Always ask.\n", "- x\n- Never ask.\n", size=9)
    assert not is_clean
    assert "<<<<<<<<< ours\n- Always ask.\n" in text
    assert "=========\n- Never ask.\n>>>>>>>>> theirs\n" in text


def test_what_is_no_text_or_no_page_is_marked_whole():
    done = drive(b"a\n", b"\xff\nb\nz", b"\xff\nc\nz")
    assert not done.is_clean
    assert done.data == b"\xff\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\nz"
    text, is_clean = driven("- a\n", "---\nx: [\n---\n- a\n", "- b\n")
    assert not is_clean
    assert "x: [" in text
    assert "- b" in text


FILES = st.binary(max_size=40) | st.sampled_from([r.encode() for rows in ROWS.values() for r in rows if r])


@settings(max_examples=60, deadline=None)
@given(
    *[st.binary(max_size=40) | st.sampled_from([r.encode() for rows in ROWS.values() for r in rows if r])] * 3
)
def test_any_bytes_are_merged_or_marked(base, ours, theirs):
    done = drive(base, ours, theirs)
    if not done.is_clean:
        lines = done.data.split(b"\n")
        starts, ends = (sum(line.startswith(mark) for line in lines) for mark in (b"<<<<<<< ", b">>>>>>> "))
        assert starts >= 1
        assert ends >= 1


def test_it_loads_neither_values_nor_the_repository():
    """Git starts it once for every page that both sides changed."""
    code = (
        "import sys, xpstore.cli.merge_driver, xpstore.merge_driver;"
        "print([m for m in ('pydantic', 'pygit2', 'sqlite3') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
