import json

import pytest

from trainer.importers import Imported, Problem, iter_rollouts, read_rollouts
from xpstore.errors import UsageError


def chat(text, **more):
    return json.dumps({"messages": [{"role": "user", "content": text}], "score": 1, **more})


def test_files_of_several_formats_in_order(tmp_path):
    rfc = {"case": {"name": "c", "rubric": {"name": "r"}}, "messages": [{"role": "user", "parts": []}]}
    (tmp_path / "a").write_text(f"{chat('one')}\n{json.dumps(rfc)}\n")
    (tmp_path / "b").write_text(f"[{chat('two')}]")
    result = read_rollouts([tmp_path / "a", str(tmp_path / "b")])
    assert [rollout.case.input.get("user_query") for rollout in result.rollouts] == ["one", None, "two"]
    assert result.formats == {"chat messages with a score": 2, "RFC rollout": 1}


def test_broken_records_and_duplicates_are_told_apart(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(f'{chat("one")}\n{{"messages": []}}\n{chat("one")}\n{chat("one", trial=1)}\n')
    result = read_rollouts([path])
    assert len(result.rollouts) == 2
    assert [str(problem) for problem in result.problems] == [f"{path}:2: messages is empty"]
    assert [str(problem) for problem in result.duplicates] == [f"{path}:3: the same rollout as {path}:1"]
    assert len(read_rollouts([path, path]).rollouts) == 2


def test_the_iterator_gives_where_each_was_found(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(f"{chat('one')}\n{{}}\n")
    first, second = iter_rollouts([path])
    assert isinstance(first, Imported)
    assert (first.path, first.line, first.format) == (str(path), 1, "chat messages with a score")
    assert isinstance(second, Problem)


def test_every_path_is_checked_before_the_first_is_read(tmp_path):
    (tmp_path / "a").write_text(chat("one"))
    with pytest.raises(UsageError, match="none does not exist"):
        next(iter_rollouts([tmp_path / "a", tmp_path / "none"]))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"hello\n", "this is not JSON"),
        (b"[]", "no rollout was found"),
        (b'{"a": 1}\n' * 9, r"3: not a format .*\(and 6 more\)"),
        ("{}".encode("utf-16"), "UTF-16"),
    ],
)
def test_nothing_at_all_names_what_is_understood(tmp_path, data, message):
    path = tmp_path / "a"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=message) as caught:
        read_rollouts([path])
    assert "tau-bench" in caught.value.hint
    assert '{"messages"' in caught.value.hint


def test_no_files():
    with pytest.raises(UsageError, match="no file was given"):
        read_rollouts([])
