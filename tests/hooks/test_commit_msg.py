from __future__ import annotations

import pytest

from hooks import commit_msg
from tests.builders import make_plan, make_store, upsert
from tests.hooking import plain_repository
from xpstore.errors import UsageError
from xpstore.record import to_commit_message

A, B, C = "a" * 20, "b" * 20, "c" * 40


def said(repo, message):
    file = repo.git_dir / "MESSAGE"
    file.write_bytes(message if isinstance(message, bytes) else message.encode())
    return [r.text for r in commit_msg.check(repo, file)]


@pytest.fixture
def repo(tmp_path):
    return plain_repository(tmp_path / "repo")


@pytest.mark.parametrize(
    "message",
    [
        "Correct a page\n",
        "Correct a page\n\nSigned-off-by: P <p@x>\nRollouts: many\n",
        f"Learn\n\nPlan-Id: {A}\nPlan-Digest: {B}\nBase-Commit: {C}\nRollouts: 8 passed=3\n",
        f"Undo\n\nPlan-Id: {A}\nReverts-Plan: {B}\nReverts-Plan: {A}\n",
        f"Squash\n\n* one\n\nPlan-Id: {A}\nPlan-Digest: {A}\n\n* two\n\nPlan-Id: {B}\nPlan-Digest: {B}\n",
        "Say that\n\n  Plan-Id: words\n",
        "# Plan-Id: words\nLearn\n",
        "Learn\n\n# ------------------------ >8 ------------------------\nPlan-Id: words\n",
        b"Caf\xe9\n\nPlan-Idea: \xff\n",
        "",
    ],
)
def test_messages_that_history_can_be_read_by(repo, message):
    assert said(repo, message) == []


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("x\n\nPlan-Id: zzz\n", "Plan-Id is 'zzz'; it must be an id of hexadecimal digits"),
        (f"x\n\nPlan-Id: {A[:7]}\n", f"Plan-Id is '{A[:7]}'; it must be an id of hexadecimal digits"),
        (
            f"x\n\nPlan-Id: {A}\nBase-Commit: HEAD\n",
            "Base-Commit is 'HEAD'; it must be the full id of a commit",
        ),
        (f"x\n\nPlan-Id: {A}\nRollouts: 8\n", "Rollouts is '8'; it must be `8 passed=3`"),
        (
            f"x\n\nPlan-Id: {A}\nReverts-Plan: \n",
            "Reverts-Plan is ''; it must be an id of hexadecimal digits",
        ),
        (
            f"x\n\nPlan-Id: {A}\nPlan-Digest: {A}\nPlan-Digest: {B}\n",
            "Plan-Digest is there twice for one plan",
        ),
        (f"x\n\nPlan-Digest: {A}\n", "the message has Plan-Digest and no Plan-Id"),
        (f"x\n\nplan-id: {A}\n", "the message has plan-id and no Plan-Id"),
    ],
)
def test_messages_that_would_make_a_commit_look_like_a_plan(repo, message, wanted):
    assert said(repo, message) == [wanted]


def test_what_the_store_writes_itself_passes(tmp_path):
    loc = make_store(tmp_path / "store")
    plan = make_plan(loc, upsert("a", "text\n"), rationale="Base-Commit: was said\nPlan-Id: too")
    assert said(loc.repo, to_commit_message(plan)) == []


@pytest.mark.parametrize("name", ["gone", ""])
def test_a_message_that_cannot_be_read_is_named(repo, name):
    with pytest.raises(UsageError, match="cannot be read"):
        commit_msg.check(repo, repo.git_dir / name)
