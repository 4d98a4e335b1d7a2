from __future__ import annotations

import asyncio

import pytest

from trainer.components.snapshotter import CommitSnapshotter, ContentHashPolicySnapshotter
from trainer.errors import ComponentError
from xpstore.experience import Experience, ExperienceSet

A, B = Experience(name="a", text="one\n", version=1), Experience(name="b", text="two\n")


def content_hash(*pages, root="x"):
    return asyncio.run(ContentHashPolicySnapshotter().snapshot(ExperienceSet(root_uri=root, policies=pages)))


def test_a_commit_is_a_snapshot():
    policy = ExperienceSet(root_uri="x", snapshot_id="c" * 40)
    assert asyncio.run(CommitSnapshotter().snapshot(policy)) == "c" * 40


def test_a_set_without_a_commit_is_an_error_with_a_hint():
    with pytest.raises(ComponentError) as caught:
        asyncio.run(CommitSnapshotter().snapshot(ExperienceSet(root_uri="x")))
    assert "ContentHash" in caught.value.hint


def test_the_hash_changes_when_and_only_when_the_policy_does():
    assert content_hash(A, B) == content_hash(B, A, root="elsewhere")
    assert content_hash(A) == content_hash(A.model_copy(update={"version": 7}))
    assert content_hash(A) != content_hash(A.model_copy(update={"text": "other\n"}))
    assert content_hash(A) != content_hash(B)
    assert content_hash(A).startswith("policy:")
