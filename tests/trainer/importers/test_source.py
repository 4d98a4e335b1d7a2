import json
import os
import tracemalloc

import pytest

from trainer.importers import source
from trainer.importers.source import Problem, Record, check_readable, read_records
from xpstore.errors import UsageError

CHAT = {"messages": [{"role": "user", "content": "x"}], "score": 1}
LINE = json.dumps(CHAT)


def read(tmp_path, data):
    path = tmp_path / "any.name"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return [(item.line, item.why if isinstance(item, Problem) else "record") for item in read_records(path)]


OK = "record"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (f"{LINE}\n{LINE}\n", [(1, OK), (2, OK)]),
        (f"{LINE}\r\n\r\n{LINE}", [(1, OK), (3, OK)]),
        (b"\xef\xbb\xbf" + f"\n{LINE}\n".encode(), [(2, OK)]),
        (LINE, [(1, OK)]),
        (json.dumps(CHAT, indent=1), [(1, OK)]),
        (f"\n\n[{LINE},\n{LINE}]", [(3, OK), (4, OK)]),
        (json.dumps([CHAT, CHAT], indent=2), [(2, OK), (11, OK)]),
        (f"{json.dumps(CHAT, indent=1)}\n{json.dumps(CHAT, indent=1)}", [(1, OK), (10, OK)]),
    ],
)
def test_lines_arrays_and_objects(tmp_path, data, expected):
    assert read(tmp_path, data) == expected


@pytest.mark.parametrize(
    ("data", "line", "why"),
    [
        (f"{LINE}\n{{broken\n{LINE}\n", 2, "not valid JSON"),
        (f"{LINE[:20]}\n{LINE}\n", 1, "not valid JSON"),
        (f"loading model\n{LINE}\n", 1, "not valid JSON"),
        (f'{LINE}\n{{"score": NaN}}\n', 2, "nan is not a number"),
        (f"{LINE}\n{'[' * 100_000}\n{LINE}", 2, "nested deeper"),
        (f"{LINE}\n".encode() + b'{"a": "\xff"}\n', 2, "not UTF-8"),
        (f'[{LINE},\n{{"score": NaN}},\n{LINE}]', 2, "nan is not a number"),
        (f"[{LINE},\n{LINE}", 2, "the JSON array has no end"),
        (f"[{LINE},\n{LINE},\n{LINE[:30]}", 3, "not valid JSON"),
        (b"", 0, "the file is empty"),
        (b"\n \r\n", 0, "the file is empty"),
        (b"\xef\xbb\xbf", 0, "the file is empty"),
        (LINE.encode("utf-16"), 0, "this is UTF-16 text: convert it to UTF-8"),
        (LINE.encode("utf-16-le"), 0, "binary file"),
        (b"\x1f\x8b\x08\x00\x01", 0, "gzip archive is damaged"),
        (b"\x00\x01\x02", 0, "binary file"),
        (b"a,b,c\n1,2,3\n", 0, "this is not JSON"),
        (b"[\xff]", 1, "not UTF-8"),
        (f"[{'[' * 100_000}", 1, "nested deeper"),
    ],
)
def test_what_is_broken_is_reported_with_its_line(tmp_path, data, line, why):
    found = [(where, text) for where, text in read(tmp_path, data) if text != OK]
    assert len(found) == 1
    assert found[0][0] == line
    assert why in found[0][1]


def test_the_rest_goes_on_after_a_broken_line(tmp_path):
    assert [why for _, why in read(tmp_path, f"{LINE}\n{{\n{LINE}\n")].count(OK) == 2
    assert [why for _, why in read(tmp_path, f'[{LINE},\n{{"a": NaN}},\n{LINE}]')].count(OK) == 2


def test_a_line_over_the_limit_is_passed_over_in_bounded_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "MAX_LINE", 1 << 20)
    path = tmp_path / "big.jsonl"
    with path.open("w") as file:
        file.write(LINE + "\n{")
        for _ in range(50):
            file.write("x" * (1 << 20))
        file.write("\n" + LINE + "\n")
    tracemalloc.start()
    items = list(read_records(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [(item.line, isinstance(item, Record)) for item in items] == [(1, True), (2, False), (3, True)]
    assert "longer than 1 MB" in items[1].why
    assert peak < 8 << 20


def test_a_value_over_the_limit_ends_the_document(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "MAX_LINE", 1 << 20)
    long = json.dumps({**CHAT, "pad": "x" * (3 << 20)})
    found = read(tmp_path, f"[{LINE},\n{long},\n{LINE}]")
    assert found[0] == (1, OK)
    assert found[1][0] == 2
    assert "more than 1 MB" in found[1][1]
    assert len(found) == 2


def test_arrays_are_streamed(tmp_path):
    path = tmp_path / "array.json"
    with path.open("w") as file:
        file.write("[\n")
        for number in range(2000):
            file.write(json.dumps({**CHAT, "pad": "x" * 10_000}) + (",\n" if number < 1999 else "\n]"))
    tracemalloc.start()
    items = [item.line for item in read_records(path) if isinstance(item, Record)]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert items == list(range(2, 2002))
    assert peak < 8 << 20


def test_lines_are_streamed(tmp_path):
    path = tmp_path / "many.jsonl"
    with path.open("w") as file:
        for _ in range(2000):
            file.write(json.dumps({**CHAT, "pad": "x" * 10_000}) + "\n")
    tracemalloc.start()
    assert sum(isinstance(item, Record) for item in read_records(path)) == 2000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20


def test_a_pipe_can_be_read(tmp_path):
    read_end, write_end = os.pipe()
    os.write(write_end, f"{LINE}\n{LINE}\n".encode())
    os.close(write_end)
    path = tmp_path / "link"
    path.symlink_to(f"/dev/fd/{read_end}")
    check_readable(path)
    assert len(list(read_records(path))) == 2
    os.close(read_end)


def test_paths_that_are_no_files(tmp_path):
    with pytest.raises(UsageError, match="is a directory") as caught:
        check_readable(tmp_path)
    assert "jsonl" in caught.value.hint
    with pytest.raises(UsageError, match="does not exist") as caught:
        check_readable(tmp_path / "none")
    assert caught.value.hint
    with pytest.raises(UsageError, match="cannot be read"):
        check_readable(tmp_path / ("x" * 5000))
    with pytest.raises(UsageError, match="cannot be read"):
        list(read_records(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_permission_denied(tmp_path):
    path = tmp_path / "secret.jsonl"
    path.write_text(LINE)
    path.chmod(0)
    with pytest.raises(UsageError, match="permission denied"):
        check_readable(path)


def test_permission_denied_by_the_system(tmp_path, monkeypatch):
    path = tmp_path / "secret.jsonl"
    path.write_text(LINE)

    def refuse(*_args, **_kwargs):
        raise PermissionError

    monkeypatch.setattr(type(path), "open", refuse)
    with pytest.raises(UsageError, match="permission denied") as caught:
        check_readable(path)
    assert caught.value.hint


def test_a_problem_reads_like_a_compiler_message():
    assert str(Problem("a.jsonl", 3, "why")) == "a.jsonl:3: why"
    assert str(Problem("a.jsonl", 0, "why")) == "a.jsonl: why"
