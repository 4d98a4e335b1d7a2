from __future__ import annotations

import pytest

from trainer.service.session_errors import InvalidRequestError
from trainer.service.session_uris import archive_name, archive_number, archive_uri, checked_id, diff_uri
from trainer.service.uris import parse_uri


@pytest.mark.parametrize("good", ["s1", "a.b-c_d", "x" * 128, "..a", "0"])
def test_a_session_id_is_a_name(good):
    assert checked_id(good) == good


@pytest.mark.parametrize(
    "bad",
    ["", ".", "..", "a/b", "../x", "a b", "a\n", "x" * 129, "名", "a\x00", "%2e%2e", "a\\b", "~", "\ud800"],
)
def test_what_could_be_a_path_or_a_trick_is_none(bad):
    with pytest.raises(InvalidRequestError):
        checked_id(bad)


def test_archives_are_named_by_number():
    assert archive_uri("u", "s", 7) == "viking://user/u/sessions/s/history/archive_007"
    assert [archive_number(archive_name(n)) for n in (1, 999, 12345)] == [1, 999, 12345]
    assert [archive_number(text) for text in ("", "archive_1", "archive_x", "archive_001/..")] == [0] * 4
    assert parse_uri(diff_uri("u", "s", 1), "u").session == (
        "s",
        ("history", "archive_001", "memory_diff.json"),
    )
