import json

import pytest

from tests.recordings import atif, claude, inspect, lines, sample
from trainer.importers import Reading, read_rollouts
from trainer.importers.scores import Scores
from xpstore.errors import UsageError


def scores(tmp_path, text, name="scores"):
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return file


def given(found):
    return {key: (score.value, score.passed) for key, score in found._scores.items()}


@pytest.mark.parametrize(
    "text",
    [
        "id,score\na,0.5\nb,1\n",
        "\ufeffSession_ID , Reward\r\na,0.5\r\n\r\nb,1\r\n",
        "cost,score,trajectory_id\n9,0.5,a\n9,1,b\n",
        "task,reward\na,0.5\nb,1\n",
        "a,0.5\nb,1\n",
        '"id","score"\n"a","0.5"\n"b",1\n',
        '{"a": 0.5, "b": 1}',
        '{"a": {"score": 0.5}, "b": {"reward": 1}}',
        '[{"id": "a", "score": 0.5}, {"instance_id": "b", "score": 1}]',
    ],
)
def test_forms(tmp_path, text):
    found = Scores.read(scores(tmp_path, text))
    assert given(found) == {"a": (0.5, None), "b": (1.0, None)}
    assert found.problems == []


@pytest.mark.parametrize(
    "text",
    [
        "id,passed\na,true\nb,no\n",
        '{"a": true, "b": false}',
        '{"resolved_ids": ["a"], "unresolved_ids": ["b"], "resolved_instances": 1}',
    ],
)
def test_passed_or_not(tmp_path, text):
    assert given(Scores.read(scores(tmp_path, text))) == {"a": (1.0, True), "b": (0.0, False)}


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("id,score\na,nan\n", 2, "'a': nan is not a number"),
        ("id,score\n\na,\n", 3, "'a': there is no score"),
        ("id,score\na\n", 2, "'a': there is no score"),
        ("id,score\na,good\n", 2, "'a': 'good' is not a number"),
        ("id,score\na,1\na,0\n", 3, "'a' has another score in line 2: neither is taken"),
        ("id,score\na,87\n", 2, "'a': 87 is not between 0 and 1"),
        ('{"a": -0.5}', 0, "'a': -0.5 is not between 0 and 1"),
        ('{"a": NaN}', 0, "'a': nan is not a number"),
        ('{"a": 1e999}', 0, "'a': inf is not a number"),
        ('{"a": [1]}', 0, "'a': the score is not a number"),
        ('{"a": 1, "a": 0}', 0, "'a' has another score"),
        ('{"a": ' + "9" * 400 + "}", 0, "'a': the score is too large"),
    ],
)
def test_what_is_no_score_is_told_and_the_rest_goes_on(tmp_path, text, line, why):
    more = text.replace("}", ', "b": 1}') if text.startswith("{") else text + "b,1\n"
    found = Scores.read(scores(tmp_path, more))
    assert given(found) == {"b": (1.0, None)}
    assert [(p.line, p.kind) for p in found.problems] == [(line, "score")]
    assert why in found.problems[0].why


def test_the_same_score_twice_is_one(tmp_path):
    found = Scores.read(scores(tmp_path, "id,score\na,1\na,1.0\n"))
    assert (given(found), found.problems) == ({"a": (1.0, None)}, [])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no column with scores"),
        ("id,mark\na,1\n", "no column"),
        ("{", "not JSON"),
        ("[" * 99_999, "not JSON.*nested too deep"),
        ('{"a": ' + "9" * 5000 + "}", "not JSON.*thousands of digits$"),
    ],
)
def test_files_that_hold_no_scores(tmp_path, text, why):
    with pytest.raises(UsageError, match=why) as caught:
        Scores.read(scores(tmp_path, text))
    assert "id,score" in caught.value.hint
    with pytest.raises(UsageError, match="cannot be read"):
        Scores.read(tmp_path / "none")
    (tmp_path / "latin").write_bytes(b"id,score\n\xff,1")
    with pytest.raises(UsageError, match="not UTF-8"):
        Scores.read(tmp_path / "latin")


def imported(tmp_path, text, *files):
    return read_rollouts(files, Reading(scores=scores(tmp_path, text)))


@pytest.fixture
def files(tmp_path):
    (tmp_path / "one.trajectory.json").write_text(json.dumps(atif()))
    (tmp_path / "two.jsonl").write_text(lines([*claude("a"), *claude("b", "Something else.")]))
    chats = [{"messages": [{"role": "user", "content": str(n)}], "id": f"c{n}"} for n in range(2)]
    (tmp_path / "three.jsonl").write_text(lines(chats))
    (tmp_path / "four.json").write_text(json.dumps(inspect(sample(), sample(epoch=2))))
    return [tmp_path / name for name in ("one.trajectory.json", "two.jsonl", "three.jsonl", "four.json")]


@pytest.mark.parametrize(
    ("key", "which"),
    [
        ("t-1", "Be good."),
        ("s-1", "Be good."),
        ("one", "Be good."),
        ("one.trajectory.json", "Be good."),
        ("a", "Read the file."),
        ("b-1", "Something else."),
        ("c1", "1"),
        ("three.jsonl:1", "0"),
    ],
)
def test_a_score_finds_its_rollout_by_an_id(tmp_path, files, key, which):
    result = imported(tmp_path, f"id,score\n{key},0.25\n", *files)
    found = [r for r in result.rollouts if r.evaluation and r.evaluation.score == 0.25]
    assert [r.messages[0].text for r in found] == [which]
    assert result.remarks == ()


def test_the_score_beside_counts_more_than_the_one_inside(tmp_path, files):
    result = imported(tmp_path, "id,passed\n1_epoch_2,true\n", files[3])
    assert [r.evaluation.passed for r in result.rollouts] == [False, True]


def test_who_nobody_knows_and_what_fits_twice_is_told(tmp_path, files):
    again = tmp_path / "again.jsonl"
    again.write_text(files[2].read_text().replace('"c0"', '"c1"').replace('"0"', '"x"'))
    result = imported(tmp_path, "id,score\nc1,1\nghost,1\ntwo.jsonl,1\n", files[1], files[2], again)
    assert [r.evaluation is None for r in result.rollouts].count(False) == 1
    told = [str(p) for p in result.remarks]
    assert told[0].startswith(f"{again}:1: the score of 'c1' was given to {files[2]}:2 already")
    assert [t.rpartition(": ")[2] for t in told[2:]] == [
        "no rollout has the id 'ghost'",
        "no rollout has the id 'two.jsonl'",
    ]


@pytest.mark.parametrize(
    ("reward", "score"),
    [("1.0\n", 1.0), ("0", 0.0), ("nan", None), ("", None), ("x" * 99, None), (None, None)],
)
def test_the_reward_that_harbor_writes_beside_a_trajectory(tmp_path, reward, score):
    for name in ("agent", "verifier"):
        (tmp_path / "trial" / name).mkdir(parents=True)
    files = [tmp_path / "trial" / "agent" / name for name in ("trajectory.json", "other.json")]
    for number, file in enumerate(files):
        file.write_text(json.dumps(atif(trajectory_id=f"t-{number}")))
    if reward is not None:
        (tmp_path / "trial" / "verifier" / "reward.txt").write_text(reward)
    found = {r.metadata["trajectory_id"]: r.evaluation for r in read_rollouts(files).rollouts}
    assert found["t-1"] is None
    assert (found["t-0"].score if found["t-0"] else None) == score
    (scored,) = imported(tmp_path, "id,score\ntrial,0.25\n", files[0]).rollouts
    assert scored.evaluation.score == 0.25
