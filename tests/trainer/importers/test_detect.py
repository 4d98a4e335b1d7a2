import pytest

from tests.recordings import ALL
from trainer.importers import Reading, read_rollouts
from trainer.importers.detect import read_all, read_record, recognised
from trainer.importers.form import Flaw, Format
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


@pytest.mark.parametrize("form", sorted(ALL))
def test_the_file_of_every_program_is_read_by_its_content(tmp_path, form):
    (tmp_path / "anything").write_text(ALL[form])
    found = read_rollouts([tmp_path / "anything"])
    assert found.rollouts == read_rollouts([tmp_path / "anything"], Reading(form)).rollouts
    (title,) = found.formats
    assert title.lower().replace(" ", "-") == form
    assert found.remarks == ()


def test_what_comes_before_a_break_is_not_lost():
    def broken(_):
        yield Flaw("old", "warning")
        raise RecordError("broken here")

    form = Format("x", "X", lambda _: True, broken)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("trainer.importers.detect.FORMATS", (form,))
        assert read_all({}) == ("X", [Flaw("old", "warning"), Flaw("broken here")])
        with pytest.raises(RecordError, match="old; broken here"):
            read_record({})
