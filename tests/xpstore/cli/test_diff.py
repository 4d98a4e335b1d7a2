from __future__ import annotations

import pytest

from xpstore.cli import diff, output


@pytest.fixture
def branched(store):
    """Main has moved on since train/x left it."""
    store.git("checkout", "-q", "-b", "train/x")
    store.write("new-page", "Do this.\n")
    (store.path / "experiences" / "refund-item.md").unlink()
    store.commit("Learn")
    store.git("checkout", "-q", "main")
    store.write("退票", "Changed by hand.\n")
    (store.path / "code.py").write_text("print()\n")
    store.commit("Edit")
    return store


def changes(answer) -> dict[str, str]:
    return {row["name"]: row["change"] for row in answer["experiences"]}


def test_diff_is_gits_own_text_and_keeps_to_the_experiences(branched):
    code, out, err = branched.xp("diff", "main", "train/x")
    assert (code, err) == (0, "")
    assert "diff --git a/experiences/new-page.md b/experiences/new-page.md" in out
    assert "退票" in out
    assert "code.py" not in out
    branched.git("checkout", "-q", "main")
    (branched.path / ".." / "p.patch").write_text(out)
    branched.git("apply", "--check", "../p.patch")


def test_two_dots_three_dots_and_names(branched):
    both = {"new-page": "A", "refund-item": "D", "退票": "M"}
    assert changes(branched.json("diff", "main..train/x")) == both
    assert changes(branched.json("diff", "main...train/x")) == {"new-page": "A", "refund-item": "D"}
    assert changes(branched.json("diff", "..train/x", "退票")) == {"退票": "M"}
    assert changes(branched.json("diff", "main", "train/x", "--", "new-page")) == {"new-page": "A"}
    assert changes(branched.json("diff", "train/x")) == {
        "new-page": "D",
        "refund-item": "A",
        "退票": "M",
    }


def test_a_plan_or_a_rename_is_one_row(branched):
    branched.git("mv", "experiences/退票.md", "experiences/退款.md")
    branched.commit("Rename")
    (row,) = branched.json("diff", "HEAD~1")["experiences"]
    assert (row["name"], row["change"]) == ("退款", "R")
    assert row["patch"].startswith("diff --git a/experiences/退票.md b/experiences/退款.md\n")


def test_no_difference_prints_nothing(branched):
    assert branched.xp("diff", "main..main") == (0, "", "")


def test_an_experience_that_never_was_is_an_error(branched):
    assert branched.xp("diff", "main", "train/x", "cancel-flight") == (0, "", "")
    assert branched.xp("diff", "train/x", "train/x", "refund-item") == (0, "", "")  # it was there once
    code, out, err = branched.xp("diff", "main", "main", "new-page")
    assert (code, out) == (1, "")
    assert err.startswith("error: there never was an experience 'new-page' in ")


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["nowhere..main"], 1),
        (["main", "train/x", "a", "b"], 2),
        (["main..main", "../x"], 2),
        (["--", "--output=x"], 1),
    ],
)
def test_wrong_arguments(branched, args, code):
    assert branched.xp("diff", *args)[0] == code
    assert not (branched.path / "x").exists()


def test_colours_follow_the_hunks(monkeypatch):
    monkeypatch.setattr(output, "to_terminal", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    lines = ["diff --git a/a b/a", "--- a/a", "+++ b/a", "@@ -1 +1 @@", "--- old", "+new\x1b[1m", " same"]
    shown = list(diff.painted(lines))
    assert shown[1] == "\x1b[1m--- a/a\x1b[0m"
    assert shown[3] == "\x1b[36m@@ -1 +1 @@\x1b[0m"
    assert shown[4] == "\x1b[31m--- old\x1b[0m"
    assert shown[5] == "\x1b[32m+new<U+001B>[1m\x1b[0m"
    assert shown[6] == " same"
