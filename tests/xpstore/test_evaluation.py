from __future__ import annotations

import json
import math
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.builders import fsck, git, make_plan, make_store, page, upsert
from xpstore import evaluation, evaluation_notes, evidence, evidence_check
from xpstore.commit import commit
from xpstore.errors import FormatError, NotFoundError, UsageError
from xpstore.evaluation import EvaluationKey, EvaluationRecord, TrialFailure, TrialResult
from xpstore.forget import forget
from xpstore.location import Location

ROOT = Path(__file__).parents[2]
WRITER = """
import sys
from contextlib import suppress
from pathlib import Path
from xpstore import evaluation
from xpstore.location import Location
loc = Location.find(Path(sys.argv[1]))
record = evaluation.read_record(sys.argv[2].encode(), "argv")
for fresh in range(6):
    evaluation.write(loc, record.model_copy(update={"fresh": fresh}))
"""


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    found = make_store(tmp_path / "s")
    commit(found, [make_plan(found, upsert("a", page("a")))], "main")
    return found


def record_of(
    loc: Location, *passed: bool, ref: str = "main", suite: str = "test", **fields: object
) -> EvaluationRecord:
    tip = loc.repo.resolve(ref)
    key = EvaluationKey(
        experiences=evaluation.experiences_at(loc, tip),
        suite=suite,
        suite_digest="d1",
        trials=1,
        seeds=(1,),
        agent="clerk/1",
    )
    results = tuple(
        TrialResult(case=f"c{n}", name=f"case {n}", trial=0, seed=1, passed=p, score=float(p))
        for n, p in enumerate(passed)
    )
    return EvaluationRecord.model_validate({"key": key, "commit": tip, "results": results, **fields})


def failure(error: str = "timed out") -> TrialFailure:
    return TrialFailure(case="c9", name="nine", trial=0, seed=1, stage="rollout", error=error)


def test_figures_leave_failures_out(loc: Location) -> None:
    record = record_of(loc, True, False, False, True, failures=(failure(),))
    assert (record.passed, record.n, record.accuracy, record.average_score) == (2, 4, 0.5, 0.5)
    assert evaluation.summary(record) == "test 2/4 50.0 % (15–85), 1 failure"
    nothing = record_of(loc)
    assert (nothing.accuracy, nothing.average_score) == (0.0, 0.0)
    assert evaluation.summary(nothing) == "test 0/0 0.0 % (0–100)"


def test_scores_are_numbers_and_repetitions_are_counted(loc: Location) -> None:
    for score in (math.nan, math.inf, 1e308, -1e308, 1.01, -0.01):
        with pytest.raises(ValidationError):
            TrialResult(case="c", name="c", trial=0, seed=1, passed=True, score=score)
    with pytest.raises(ValidationError):
        record_of(loc, fresh=-1)


def test_written_once_and_found_by_key_and_by_commit(loc: Location) -> None:
    record = record_of(loc, True, False)
    assert evaluation.find(loc, record.key) is None
    evaluation.write(loc, record)
    tips = git(loc.repo.place, "for-each-ref")
    evaluation.write(loc, record)
    assert git(loc.repo.place, "for-each-ref") == tips
    assert evaluation.find(loc, record.key) == record
    assert evaluation.of_commit(loc, record.commit) == [record]
    assert evidence.listing(loc, "evaluations") == [evaluation.record_path(record)]
    assert evidence.find_ids(loc, "evaluations", record.key.id[:6]) == [record.key.id]
    assert git(loc.repo.place, "status", "--short") == ""
    fsck(loc.repo.place)


def test_another_agent_or_other_experiences_have_another_key(loc: Location) -> None:
    record = record_of(loc, True)
    evaluation.write(loc, record)
    for field, value in (
        ("agent", "b"),
        ("trials", 2),
        ("seeds", (2,)),
        ("code", "x"),
        ("suite_digest", "e"),
    ):
        other = record.key.model_copy(update={field: value})
        assert other.id != record.key.id
        assert evaluation.find(loc, other) is None
    commit(loc, [make_plan(loc, upsert("b", page("b")))], "main")
    assert evaluation.of_commit(loc, loc.repo.resolve("main")) == []
    assert evaluation.find(loc, record.key) == record


def test_the_newest_repetition_is_found_and_none_is_overwritten(loc: Location) -> None:
    first, second = record_of(loc, True), record_of(loc, False, fresh=1)
    elsewhere = record_of(loc, True, True)  # a clone that knew nothing of the first
    for record in (second, first, elsewhere):
        evaluation.write(loc, record)
    assert evaluation.find(loc, first.key) == second
    assert len(evaluation.of_commit(loc, first.commit)) == 3
    assert evaluation.of_commit(loc, first.commit)[-1] == second


def test_the_note_is_read_by_git_and_by_programs(loc: Location) -> None:
    evaluation.write(loc, record_of(loc, True, False, suite="gate"))
    evaluation.write(loc, record_of(loc, True, failures=(failure(),)))
    text = git(loc.repo.place, "log", "-1", "--notes=xp-eval")
    assert '{"summary": "gate 1/2 50.0 % (9–91)", "suite": "gate", "passed": 1' in text
    rows = [json.loads(line) for line in evaluation_notes.lines(loc, loc.repo.resolve("main"))]
    assert [(r["suite"], r["n"], r["failures"]) for r in rows] == [("gate", 2, 0), ("test", 1, 1)]


def test_a_record_says_what_was_really_there(loc: Location) -> None:
    record = record_of(loc, True)
    with pytest.raises(UsageError, match="has the experiences"):
        evaluation.write(loc, record.model_copy(update={"commit": loc.repo.resolve("main~1")}))
    with pytest.raises(NotFoundError):
        evaluation.write(loc, record.model_copy(update={"commit": "1" * 40}))
    assert evidence.listing(loc, "evaluations") == []


def test_no_experiences_are_a_set_too(tmp_path: Path) -> None:
    loc = make_store(tmp_path)
    record = record_of(loc, False)
    assert record.key.experiences == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    evaluation.write(loc, record)
    assert evaluation.of_commit(loc, record.commit) == [record]


def test_secrets_in_errors_are_masked(loc: Location) -> None:
    secret = "ghp_" + "a1B2" * 9
    evaluation.write(loc, record_of(loc, True, failures=(failure(f"401 for {secret}"),)))
    (record,) = evaluation.of_commit(loc, loc.repo.resolve("main"))
    assert record.failures[0].error.startswith("401 for ")
    assert secret not in record.failures[0].error


def test_a_rebased_and_a_squashed_commit_get_their_notes_again(loc: Location) -> None:
    place = loc.repo.place
    git(place, "branch", "train/x", "main~1")
    plans = [make_plan(loc, upsert(n, page(n)), branch="train/x") for n in ("b", "c")]
    commit(loc, plans, "train/x")
    evaluation.write(loc, record_of(loc, True, ref="train/x"))
    before = loc.repo.resolve("train/x")
    git(place, "switch", "-q", "train/x")
    git(place, "reset", "-q", "--soft", "main~1")
    git(place, "commit", "-qm", "Squash")
    squashed = loc.repo.resolve("train/x")
    assert evaluation.renote(loc, [squashed, loc.repo.resolve("main")]) == [squashed]
    assert evaluation_notes.lines(loc, squashed) == evaluation_notes.lines(loc, before) != ()
    assert evaluation.renote(loc, [squashed]) == []
    assert git(place, "log", "-1", "--notes=xp-eval", "--format=%N", squashed).startswith('{"summary"')


def test_a_clone_without_the_notes_makes_them_again(loc: Location, tmp_path: Path) -> None:
    evaluation.write(loc, record_of(loc, True))
    git(tmp_path, "clone", "-q", str(loc.repo.place), "c")
    clone = Location.find(tmp_path / "c")
    tip = clone.repo.resolve("main")
    assert evaluation_notes.lines(clone, tip) == ()
    assert evaluation.renote(clone, [tip]) == [tip]
    assert evaluation_notes.lines(clone, tip) == evaluation_notes.lines(loc, tip)


def test_processes_that_write_at_once_lose_nothing(loc: Location) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(loc.repo.place), record_of(loc, passed).model_dump_json()],
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )
        for passed in (True, False)
    ]
    assert [(w.communicate(timeout=60)[1], w.returncode) for w in writers] == [("", 0)] * 2
    tip = loc.repo.resolve("main")
    assert len(evaluation.of_commit(loc, tip)) == len(evaluation_notes.lines(loc, tip)) == 12
    fsck(loc.repo.place)


def test_verify_knows_the_folder(loc: Location) -> None:
    record = record_of(loc, True)
    evaluation.write(loc, record)
    assert evidence_check.branch_problems(loc, evidence_check.Evidence.open(loc)) == []
    path = evaluation.record_path(record)
    forged = record_of(loc, False).model_dump(mode="json")
    other = path.replace(record.id, "ab" * 10)
    broken = path.replace(record.id, "cd" * 10)
    files = [evidence.json_file(other, forged), evidence.json_file(broken, {"key": 3})]
    evidence.write(loc, files, "Forge")
    shelf = evidence_check.Evidence.open(loc)
    assert "was altered: its content has the id" in shelf.problem(other)
    assert "is no evaluation" in shelf.problem(broken)
    assert evaluation.find(loc, record.key) == record
    assert evaluation.of_trees(loc, {record.key.experiences}) == [record]


def test_scores_that_no_mean_can_hold_are_damage(loc: Location) -> None:
    record = record_of(loc, True, True)
    forged = record.model_dump(mode="json")
    for result in forged["results"]:
        result["score"] = 1e308
    path = evaluation.record_path(record)
    evidence.write(loc, [evidence.json_file(path, forged)], "An old program")
    assert "is no evaluation: results.0.score: " in evidence_check.Evidence.open(loc).problem(path)
    assert evaluation.find(loc, record.key) is None
    assert evaluation.renote(loc, [record.commit]) == []


def test_what_a_search_measured_is_on_record_and_no_score_for_people(loc: Location) -> None:
    score, part = record_of(loc, True), record_of(loc, False, suite=f"{evaluation.SEARCH}test")
    for record in (score, part):
        evaluation.write(loc, record)
    other = "0" * 40
    assert evaluation.of_trees(loc, {score.key.experiences, other}) == [part, score]
    assert evaluation.of_trees(loc, {other}) == []
    assert evaluation_notes.lines(loc, score.commit) == (evaluation.note_line(score),)
    assert evaluation.renote(loc, [score.commit]) == []


def test_forgetting_a_rollout_leaves_evaluations_and_notes(loc: Location) -> None:
    record = record_of(loc, True)
    evaluation.write(loc, record)
    rollout = "ab" * 10
    evidence.write(loc, [evidence.rollout_file(rollout, {"case": {"name": "case 0"}})], "Receive")
    forget(loc, rollout)
    assert evaluation.of_commit(loc, record.commit) == [record]
    assert evaluation_notes.lines(loc, record.commit) == (evaluation.note_line(record),)
    assert evidence_check.branch_problems(loc, evidence_check.Evidence.open(loc)) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)
RECORD = {
    "key": {"experiences": "e", "suite": "s", "suite_digest": "d", "trials": 1, "seeds": [1], "agent": "a"},
    "commit": "c",
    "results": [{"case": "c", "name": "n", "trial": 0, "seed": 1, "passed": True, "score": 1.0}],
    "failures": [{"case": "c", "name": "n", "trial": 0, "seed": 1, "stage": "s", "error": "e"}],
}


@given(
    st.sampled_from([("key",), ("key", "seeds"), ("results",), ("failures", 0), ("results", 0, "score")]),
    JSON,
)
def test_what_is_damaged_is_an_error_for_people(path, value):
    data = json.loads(json.dumps(RECORD))
    inner = data
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    with suppress(FormatError):
        record = evaluation.read_record(json.dumps(data).encode(), "evaluations/x")
        assert evaluation.record_path(record)
        assert 0 <= record.average_score <= 1
        assert json.loads(evaluation.note_line(record))
