import io
import json
import tracemalloc

import pytest

from tests.recordings import inspect, sample, tau2
from trainer.importers import read_rollouts
from trainer.importers.documents import cleaned, values
from trainer.importers.members import Split
from trainer.importers.window import CutOffError

LIMIT = 1 << 20


def read(value, limit=LIMIT, **options):
    text = value if isinstance(value, str) else json.dumps(value, **options)
    return list(values(io.BytesIO(text.encode()), b"", 1, limit))


@pytest.mark.parametrize("indent", [None, 2])
def test_each_sample_of_a_log_is_one_value_with_the_head(indent):
    log = inspect(sample(), sample(2))
    found = read(log, indent=indent)
    assert all(isinstance(value, Split) for _, value in found)
    assert [cleaned(value)["samples"] for _, value in found] == [[sample()], [sample(2)]]
    assert "results" not in cleaned(found[0][1])
    assert len({line for line, _ in found}) == (2 if indent else 1)


def test_what_is_no_log_stays_whole():
    for value in (
        {"samples": [1, 2]},
        {"eval": {}, "samples": {}},
        {"simulations": []},
        {"eval": 1, "samples": [1]},
    ):
        assert [found for _, found in read(value)] == [value]
    assert [found for _, found in read({"samples": [1], "eval": {}})] == [{"samples": [1], "eval": {}}]


def test_a_log_may_be_longer_than_a_value(tmp_path):
    file = tmp_path / "log.json"
    pad = [{"role": "user", "content": "x" * 60_000} for _ in range(8)]
    with file.open("w") as out:
        head = json.dumps({key: value for key, value in inspect().items() if key != "samples"}, indent=1)
        out.write(head[:-2] + ',\n "samples": [\n')
        out.write(",\n".join(json.dumps(sample(n, messages=pad)) for n in range(60)) + "\n]}")
    tracemalloc.start()
    with file.open("rb") as stream:
        found = sum(1 for _ in values(stream, b"", 1, LIMIT))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == 60
    assert file.stat().st_size > 20 * LIMIT
    assert peak < 8 * LIMIT


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"eval": {}, "samples": [1, 2', "the JSON array has no end"),
        ('{"eval": {}, "samples": [1], ', "the JSON object has no end"),
        ('{"eval": {}', "the JSON object has no end"),
        ('{"a" 1}', "':' was expected"),
        ('{"a": 1 "b": 2}', "',' was expected"),
        ("{a: 1}", "'\"' was expected"),
        ('{"eval": {"x": NaN}, "samples": [1]}', "nan is not a number"),
        ('{"a": "' + "x" * 200 + '"}', "a value of more than 0 MB"),
        ('{"a": [' + "1, " * 25 + '1], "b": [' + "1, " * 25 + "1]}", "a value of more than 0 MB"),
    ],
)
def test_where_reading_cannot_go_on(text, why):
    with pytest.raises(CutOffError, match=why):
        read(text, 100)


def test_samples_before_the_break_are_there(tmp_path):
    file = tmp_path / "a.json"
    file.write_text(json.dumps(inspect(sample(), sample(2)), indent=1)[:-80])
    result = read_rollouts([file])
    assert len(result.rollouts) == 1
    assert "what follows in the file was not read" in result.problems[0].why


def test_a_simulation_that_cannot_be_carried_is_one_problem(tmp_path):
    results = tau2()
    results["simulations"][1]["duration"] = float("nan")
    file = tmp_path / "a.json"
    file.write_text(json.dumps(results, indent=4))
    result = read_rollouts([file])
    assert len(result.rollouts) == 1
    assert ["nan is not a number" in p.why for p in result.problems] == [True, False]


def test_a_bare_list_of_messages_is_one_value():
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    assert read(messages, indent=1) == [(1, {"messages": messages})]
    with pytest.raises(CutOffError, match="a conversation of more than"):
        read(messages * 10, 200)
