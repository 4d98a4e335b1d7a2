from __future__ import annotations

import pytest

from tests.builders import make_store
from tests.trainer.doubles import rollout
from trainer.recall import analysed_by, read_analysis, read_rollout, size_of, sizes, studied
from xpstore import evidence
from xpstore.errors import FormatError, NotFoundError

ANALYSED = {"event": "analysed", "learner": "double/1", "passed": True, "score": 1.0, "trajectories": []}


@pytest.fixture
def loc(tmp_path):
    return make_store(tmp_path / "s")


def record(loc, one):
    evidence.write(loc, [evidence.rollout_file(one.id, one.model_dump(mode="json"))], "Receive")
    return one


def test_a_recording_is_read_back_as_it_was(loc):
    one = record(loc, rollout("a"))
    assert read_rollout(loc, one.id) == one
    assert sizes(loc, [one.id, "aa11"]) == {one.id: size_of(one)}
    with pytest.raises(NotFoundError, match="no rollout aa11"):
        read_rollout(loc, "aa11")


def test_who_noted_what():
    assert analysed_by([{"event": "received"}, ANALYSED], "double/1") == ANALYSED
    assert analysed_by([ANALYSED], "double/2") is None
    assert analysed_by([ANALYSED, {"event": "dropped"}], "double/1") is None


def test_a_score_that_only_the_notes_have_is_taken_from_there(loc):
    one = record(loc, rollout("a", passed=None))
    assert read_analysis(loc, one.id, ANALYSED).evaluation.passed is True
    with pytest.raises(FormatError, match="passed"):
        read_analysis(loc, one.id, {**ANALYSED, "passed": "perhaps"})


def test_what_cannot_be_read_is_set_aside_and_named(loc):
    one = record(loc, rollout("a"))
    found, damaged = studied(loc, {one.id: ANALYSED, "aa11": ANALYSED})
    assert [a.rollout for a in found] == [one]
    assert [(f.rollout, f.stage) for f in damaged] == [("aa11", "recall")]
