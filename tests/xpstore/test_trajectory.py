from __future__ import annotations

from xpstore.trajectory import OUTCOMES, Trajectory


def note(**fields):
    values = {
        "name": "cancel",
        "content": "Looked first.\n",
        "outcome": "success",
        "retrieval_anchor": "cancel a booking",
        "rollout": "f" * 20,
    }
    return Trajectory(**{**values, **fields})


def test_the_same_note_has_the_same_place():
    assert note().uri == note().uri == f"trajectories/{note().id[:2]}/{note().id}.md"
    assert note().id != note(outcome="failure").id
    assert note().id != note(rollout="e" * 20).id


def test_the_outcomes_are_the_rfcs_and_others_are_kept():
    assert OUTCOMES == ("success", "failure", "partial", "unfinished", "unknown")
    assert note(outcome="abandoned").outcome == "abandoned"
