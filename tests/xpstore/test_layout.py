from __future__ import annotations

import pytest

from xpstore import layout


def test_paths_are_sharded_by_the_first_two_digits() -> None:
    assert layout.rollout_path("abcd") == "rollouts/ab/abcd.json"
    assert layout.case_path("abcd") == "cases/ab/abcd.json"
    assert layout.trajectory_path("abcd") == "trajectories/ab/abcd.md"
    assert layout.evaluation_path("abcd", "ef") == "evaluations/ab/abcd.ef.json"
    assert layout.record_path("abcd", "d") == "gradients/ab/abcd/d.json"
    assert layout.ledger_folder("abcd") == "ledger/ab/abcd"
    assert layout.tombstone_path("abcd") == "tombstones/ab/abcd"


@pytest.mark.parametrize(
    ("path", "subject"),
    [
        ("rollouts/ab/abcd.json", "abcd"),
        ("ledger/ab/abcd/ef.json", "abcd"),
        ("trajectories/ab/abcd.md", "abcd"),
        ("gradients/ab/abcd/ef.json", ""),
        ("rollouts/x", ""),
        ("other", ""),
    ],
)
def test_subject(path: str, subject: str) -> None:
    assert layout.subject_of(path) == subject


def test_a_second_store_has_its_name_in_every_ref() -> None:
    assert layout.evidence_ref("") == "refs/heads/xp/evidence"
    assert layout.evidence_ref("b") == "refs/heads/xp/b/evidence"
    assert (layout.notes_ref(""), layout.notes_ref("b")) == ("refs/notes/xp-eval", "refs/notes/xp-eval-b")
    assert (layout.candidate_prefix(""), layout.candidate_prefix("b")) == ("train/", "train/b/")


def test_join() -> None:
    assert [layout.join(*pair) for pair in (("", "a"), ("p/q", "a"), ("p", ""))] == ["a", "p/q/a", "p"]
