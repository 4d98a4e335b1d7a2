from __future__ import annotations

import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.importers import window
from trainer.importers.documents import CutOffError, values

LIMIT = 1 << 20
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


class Drip(io.RawIOBase):
    """A stream that gives a few bytes at a time, whatever is asked for."""

    def __init__(self, data: bytes, piece: int) -> None:
        self._data = io.BytesIO(data)
        self._piece = piece

    def read(self, size: int = -1) -> bytes:
        return self._data.read(self._piece)


def read(text: str | bytes, piece: int = 1 << 20) -> list[tuple[int, object]]:
    data = text.encode() if isinstance(text, str) else text
    return list(values(Drip(data, piece), b"", 1, LIMIT))  # type: ignore[arg-type]


@given(st.lists(JSON, max_size=5), st.sampled_from([None, 1]), st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_an_array_comes_back_whatever_pieces_it_is_read_in(
    rows: list[object], indent: int | None, piece: int
):
    text = json.dumps(rows, indent=indent, ensure_ascii=False).encode("utf-8", "replace")
    assert [value for _, value in read(text, piece)] == json.loads(text)


@given(st.lists(JSON, min_size=1, max_size=5), st.integers(1, 40))
@settings(max_examples=40, deadline=None)
def test_values_one_after_the_other(rows: list[object], piece: int):
    text = "\n".join(json.dumps(row) for row in rows if not isinstance(row, list)) or "1"
    expected = [row for row in rows if not isinstance(row, list)] or [1]
    assert [value for _, value in read(text, piece)] == expected


@pytest.mark.parametrize("piece", [1, 3, 7, 1000])
def test_lines_are_those_of_the_file(piece: int):
    assert read('\n[1,\n\n{"a":\n2}, "é😀",\n3\n]\n', piece) == [(2, 1), (4, {"a": 2}), (5, "é😀"), (6, 3)]


@pytest.mark.parametrize("piece", [1, 5, 1000])
@pytest.mark.parametrize(
    ("data", "line", "why"),
    [
        (b"[1,\n2", 2, "has no end"),
        (b"[1,\n", 2, "has no end"),
        (b'[1,\n"abc', 2, "not valid JSON: Unterminated"),
        (b"[1,\n{]", 2, "not valid JSON"),
        (b'[1,\n"a\x80b"]', 2, "not UTF-8"),
        (b"[1,\n\xe4\xbd", 2, "not UTF-8"),
        (b"[1,\n" + b"[" * 10_000, 2, "nested deeper"),
    ],
)
def test_where_reading_cannot_go_on(data: bytes, line: int, why: str, piece: int):
    found = []
    with pytest.raises(CutOffError, match=why) as caught:
        found += values(Drip(data, piece), b"", 1, LIMIT)  # type: ignore[arg-type]
    assert caught.value.line == line


def test_a_value_that_is_too_long(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(window, "CHUNK", 16)
    with pytest.raises(CutOffError, match="a value of more than 1 MB"):
        read('["' + "x" * (3 * LIMIT) + '"]', 1 << 16)
