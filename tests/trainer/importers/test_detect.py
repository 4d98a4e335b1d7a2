import pytest

from trainer.importers.detect import read_record, recognised
from trainer.importers.jsontext import RecordError

CHAT = {"messages": [{"role": "user", "content": "x"}], "score": 1}
RFC = {"case": {"name": "c", "rubric": {"name": "r"}}, "messages": [{"role": "user", "parts": []}]}
TAU = {"task_id": 1, "reward": 1, "info": {"task": {}}, "traj": [{"role": "user", "content": "x"}]}


@pytest.mark.parametrize(
    ("record", "form"), [(CHAT, "chat messages with a score"), (RFC, "RFC rollout"), (TAU, "tau-bench")]
)
def test_the_content_tells_the_format(record, form):
    assert recognised(record)
    assert read_record(record)[0] == form


@pytest.mark.parametrize(
    ("value", "why"),
    [([], "the record is not a JSON object"), ({"b": 1, "a": 2}, r"understood \(keys: a, b\)")],
)
def test_other_json_is_refused_with_what_it_has(value, why):
    assert not recognised(value)
    with pytest.raises(RecordError, match=why):
        read_record(value)
