from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xpstore.trailers import format_message, parse_trailers, plan_ids

TRAILERS = [("Plan-Id", "ab12"), ("Base-Commit", "cd34"), ("Rollouts", "8 passed=3")]
PWN = "diff --git a/policy.md b/policy.md\n--- a/policy.md\n+++ b/policy.md\n@@ -1 +1 @@\n-safe\n+pwned\n"


def test_a_message_reads_like_a_review():
    message = format_message("Refund before cancelling", "5 rollouts, 3 failed.\n\nMore: text.", TRAILERS)
    assert message == (
        "Refund before cancelling\n\n5 rollouts, 3 failed.\n\nMore: text.\n\n"
        "Plan-Id: ab12\nBase-Commit: cd34\nRollouts: 8 passed=3\n"
    )
    assert parse_trailers(message) == {
        "Plan-Id": ("ab12",),
        "Base-Commit": ("cd34",),
        "Rollouts": ("8 passed=3",),
    }


@pytest.mark.parametrize(
    "line",
    [
        "diff --git a/x b/x",
        "diff -r x",
        "--- a/x",
        "---",
        "+++ b/x",
        "@@ -1 +1 @@",
        "Index: x",
        "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001",
        "From: Mallory <m@example.org>",
        "Subject: other",
        "# comment",
        "Plan-Id: 00ff",
        "plan-id : 00ff",
        "Signed-off-by: x <x@example.org>",
        "Store: other",
    ],
)
def test_active_lines_of_the_prose_are_indented(line):
    message = format_message("s", f"before\n{line}\nafter", TRAILERS)
    assert f"\n  {line.rstrip()}\n" in message
    assert plan_ids(message) == ("ab12",)


def test_subjects_are_one_line_that_acts_as_nothing():
    assert format_message("a\n\nb\u2028c\x00", "", []) == "a b c\n"
    assert format_message("", "", []) == "Update experiences\n"
    assert not format_message("# x", "", []).startswith("#")
    assert plan_ids(format_message("Plan-Id: 00ff", "", [])) == ()


def test_prose_alone_has_no_trailers():
    message = format_message("s", "first\n\nNote: this\nFixes: that", [])
    assert parse_trailers(message) == {}
    assert git_trailers(message) == ""


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("subject\n", {}),
        ("Plan-Id: ab\n", {}),
        ("s\n\nA: 1\nB: 2\nA: 3\n", {"A": ("1", "3"), "B": ("2",)}),
        ("s\n\nA: 1\n  2\n\n\n", {"A": ("1 2",)}),
        ("s\r\n\r\nA: 1\r\n", {"A": ("1",)}),
        ("s\n\nA :1\nB:\n", {"A": ("1",), "B": ("",)}),
        ("s\n\nprose\nA: 1\n", {}),
        ("s\n\nprose\nPlan-Id: ab\n", {"Plan-Id": ("ab",)}),
        ("s\n\nA: 1\n(cherry picked from commit 00ff)\n", {"A": ("1",)}),
        ("s\n\nA: 1\n\nB: 2\n", {"B": ("2",)}),
        ("s\n\nA: 退款 👩‍👧\n", {"A": ("退款 👩‍👧",)}),
        ("", {}),
    ],
)
def test_parse_trailers(message, expected):
    assert parse_trailers(message) == expected


def test_a_squash_leaves_several_plan_ids():
    first = "* one\n\ntext\n\nPlan-Id: aa\nStore: s\n\n"
    squashed = f"Squash\n\n{first}* two\n\nPlan-Id: bb\r\nPlan-Id: aa\n\nCo-authored-by: x\n"
    assert plan_ids(squashed) == ("aa", "bb")
    assert plan_ids("s\n\n  Plan-Id: aa\n> Plan-Id: bb\nPlan-Id: not hex\n") == ()


@pytest.mark.parametrize("key", ["", "a b", "a:", "1a", "Ä", "a\nb"])
def test_keys_that_git_would_not_read_are_refused(key):
    with pytest.raises(ValueError, match="trailer key"):
        format_message("s", "", [(key, "v")])


def git_trailers(message: str) -> str:
    command = ["git", "interpret-trailers", "--parse"]
    return subprocess.run(command, input=message.encode(), capture_output=True, check=True).stdout.decode()


LINE = st.sampled_from(
    [*PWN.split("\n"), "", "Plan-Id: 00ff", "Key: v", "From x", "> q", "-- ", "退款", "# c"]
) | st.text(max_size=12)
TEXT = st.lists(LINE, max_size=6).map("\n".join)
VALUE = st.text(max_size=12).map(lambda v: " ".join(v.split()))


@settings(max_examples=100, deadline=None)
@given(TEXT, TEXT)
def test_no_prose_forges_a_plan_or_a_diff(subject, body):
    message = format_message(subject, body, TRAILERS)
    assert parse_trailers(message) == {key: (value,) for key, value in TRAILERS}
    assert plan_ids(message) == ("ab12",)
    active = ("diff ", "--- ", "+++ ", "@@ ", "Index: ", "From ", "#")
    assert not [line for line in message.split("\n")[1:] if line.startswith(active) or line == "---"]
    assert not message.startswith("#")
    assert message.encode()
    assert parse_trailers(format_message(subject, body, [])) == {}


@settings(max_examples=12, deadline=None)
@given(TEXT)
def test_git_reads_the_same_trailers(body):
    assert git_trailers(format_message("s", body, TRAILERS)) == "".join(f"{k}: {v}\n" for k, v in TRAILERS)
    assert git_trailers(format_message("s", body, [])) == ""


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["Plan-Id", "Learner", "X"]), VALUE), min_size=1, max_size=4))
def test_trailers_round_trip(trailers):
    found = parse_trailers(format_message("s", "b", trailers))
    assert [len(found[key]) for key in found] == [sum(k == key for k, _ in trailers) for key in found]
    assert all(" ".join(v.split()) == v for values in found.values() for v in values)


def test_git_am_does_not_execute_the_prose(tmp_path):
    def git(*args: str, data: bytes = b"") -> bytes:
        return subprocess.run(
            ["git", *args], cwd=tmp_path, input=data, capture_output=True, check=True
        ).stdout

    git("init", "-q", "-b", "main")
    git("config", "user.name", "t")
    git("config", "user.email", "t@example.org")
    (tmp_path / "policy.md").write_text("safe\n")
    git("add", "-A")
    git("commit", "-q", "-m", "base")
    (tmp_path / "x.md").write_text("x\n")
    git("add", "-A")
    git(
        "commit",
        "-q",
        "-F",
        "-",
        data=format_message("s", f"Because:\n\n{PWN}\n---\n{PWN}", TRAILERS).encode(),
    )
    mail = git("format-patch", "-1", "--stdout")
    git("reset", "-q", "--hard", "HEAD~1")
    git("am", "-q", data=mail)
    assert (tmp_path / "policy.md").read_text() == "safe\n"
    assert plan_ids(git("log", "-1", "--format=%B").decode()) == ("ab12",)
