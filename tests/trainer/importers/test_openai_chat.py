import pytest

from trainer.importers.jsontext import RecordError
from trainer.importers.openai_chat import found, matches, read

MESSAGES = [{"role": "system", "content": "s"}, {"role": "user", "content": "Book a flight."}]


def record(**more):
    return {"messages": MESSAGES, "score": 1, **more}


def test_the_smallest_record():
    assert matches(record())
    rollout = read(record())
    assert (rollout.evaluation.passed, rollout.evaluation.score) == (True, 1.0)
    assert rollout.case.name.startswith("case_")
    assert rollout.case.input == {"user_query": "Book a flight."}
    assert rollout.metadata == {}


def test_trials_without_a_case_group_by_the_first_user_message():
    trial = {"messages": [*MESSAGES, {"role": "assistant", "content": "Done."}], "reward": 0.0}
    assert read(trial).case == read(record()).case
    assert read(record(messages=[{"role": "user", "content": "Cancel."}])).case != read(record()).case


def test_keys_without_a_place_are_kept():
    rollout = read(record(trial=3, cost=0.5, reward=0.2, metadata={"a": 1}, feedback="good"))
    assert rollout.metadata == {"a": 1, "trial": 3, "cost": 0.5, "reward": 0.2}
    assert rollout.evaluation.feedback == ("good",)
    assert read({"messages": [{**MESSAGES[1], "ts": 1}], "score": 0}).metadata == {
        "messages": {"0": {"ts": 1}}
    }


@pytest.mark.parametrize(
    ("fields", "passed", "score"),
    [
        ({"score": 0.99}, False, 0.99),
        ({"score": None, "reward": 2}, True, 2.0),
        ({"score": 0.4, "passed": True}, True, 0.4),
        ({"score": None, "passed": False}, False, 0.0),
        ({"score": True}, True, 1.0),
    ],
)
def test_scores(fields, passed, score):
    evaluation = read(record(**fields)).evaluation
    assert (evaluation.passed, evaluation.score) == (passed, score)


@pytest.mark.parametrize("score", [87, 12, -1, 1.01])
def test_a_score_of_another_scale_is_refused_unless_it_is_said_what_passed(score):
    with pytest.raises(RecordError, match="score is not between 0 and 1"):
        read(record(score=score))
    assert not read(record(score=score, passed=False)).evaluation.passed


@pytest.mark.parametrize(
    ("fields", "name", "given"),
    [
        ({"case": "refund"}, "refund", {}),
        ({"task_id": 7, "id": "x"}, "7", {}),
        ({"id": "x"}, "x", {}),
        ({"case": {"id": 4, "lang": "zh"}}, "4", {"id": 4, "lang": "zh"}),
        ({"task": {"name": "n", "input": {"q": 1}, "level": 2}}, "n", {"level": 2, "q": 1}),
    ],
)
def test_given_cases(fields, name, given):
    case = read(record(**fields)).case
    assert (case.name, case.input) == (name, given)


def test_a_full_case_and_a_task_text():
    full = {"name": "c", "task_signature": "s", "rubric": {"name": "r"}, "metadata": {"m": 1}}
    case = read(record(case=full)).case
    assert (case.rubric.name, case.task_signature, case.metadata) == ("r", "s", {"m": 1})
    text = "Book a flight.\nBe quick."
    assert read(record(task=text)).case.input == {"user_query": text}


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"score": "0.5"}, "score is not a number"),
        ({"passed": "yes"}, "passed is neither"),
        ({"messages": []}, "messages is empty"),
        ({"case": ["x"]}, "the case is neither a name nor an object"),
        ({"case": {"name": "c", "rubric": 5}}, "not a valid case: rubric"),
        ({"metadata": 5}, "metadata is not a JSON object"),
    ],
)
def test_broken_records(fields, why):
    with pytest.raises(RecordError, match=why):
        read(record(**fields))


def test_a_score_may_be_missing():
    assert read(record(score=None)).evaluation is None


def test_the_ids_by_which_a_score_may_name_it():
    (one,) = found(record(id=7, trajectory_id="t", session_id=None))
    assert one.keys == ("t", "7")
    assert one.rollout == read(record(id=7, trajectory_id="t", session_id=None))
