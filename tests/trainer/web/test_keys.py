from __future__ import annotations

import json
import threading

import pytest

from tests.asgi import get
from trainer.web.app import make_app
from trainer.web.keys import Access, Caller, KeyFile, digest
from trainer.web.problem import WebError
from xpstore.errors import FormatError, NotFoundError, RepositoryError, UsageError


@pytest.fixture
def file(tmp_path) -> KeyFile:
    return KeyFile(tmp_path / "below" / "keys.json")


def headers(**given: str):
    return lambda name: given.get(name.replace("-", "_"), "")


def test_a_key_is_shown_once_and_only_its_hash_is_kept(file):
    key = file.add("desk", "/a/store")
    text = file.path.read_text("utf-8")
    assert key.startswith("xp_")
    assert len(key) >= 43  # 256 bits
    assert key not in text
    assert key[3:] not in text
    assert json.loads(text)["keys"] == [{"name": "desk", "sha256": digest(key.encode()), "store": "/a/store"}]
    assert file.path.stat().st_mode & 0o777 == 0o600


def test_a_key_opens_by_either_header(file):
    key = file.add("desk", "/a")
    other = file.add("lab")
    access = Access(file)
    assert access.caller(headers(x_api_key=key)) == Caller("desk", "/a")
    assert access.caller(headers(authorization=f"bearer  {other} ")) == Caller("lab")
    assert access.caller(headers(x_api_key=key, authorization=f"Bearer {other}")).name == "desk"


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"x_api_key": "xp_wrong"},
        {"authorization": "Basic eHA6"},
        {"authorization": "Bearer"},
        {"x_api_key": "\udcff\xff é"},
    ],
)
def test_anything_else_does_not(file, sent):
    file.add("desk")
    with pytest.raises(WebError) as told:
        Access(file).caller(headers(**sent))
    assert (told.value.status, told.value.code) == (401, "UNAUTHENTICATED")
    assert "WWW-Authenticate" in told.value.headers


def test_the_hash_of_a_key_is_no_key(file):
    key = file.add("desk")
    with pytest.raises(WebError):
        Access(file).caller(headers(x_api_key=digest(key.encode())))


def test_what_is_added_or_dropped_counts_at_once(file):
    first = file.add("desk")
    access = Access(file)
    second = file.add("lab")
    assert access.caller(headers(x_api_key=second)).name == "lab"
    file.drop("desk")
    with pytest.raises(WebError):
        access.caller(headers(x_api_key=first))
    file.path.unlink()
    with pytest.raises(WebError):
        access.caller(headers(x_api_key=second))


def test_a_name_is_taken_once_and_dropped_once(file):
    file.add("desk")
    with pytest.raises(UsageError, match="there is a key named 'desk'"):
        file.add("desk")
    file.drop("desk", dry_run=True)
    assert len(file.read()) == 1
    file.drop("desk")
    with pytest.raises(NotFoundError):
        file.drop("desk", dry_run=True)


@pytest.mark.parametrize("name", ["", "Desk", "../x", "a b", "x" * 65, "-a"])
def test_a_name_is_never_a_path(file, name):
    with pytest.raises(UsageError, match="no name for a key"):
        file.add(name)
    assert not file.path.exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"version": 2, "keys": []}',
        '{"version": 1, "keys": [{"name": "a"}]}',
        '{"version": 1, "keys": [{"name": "a", "sha256": 1}]}',
        '{"version": 1, "keys": [{"name": "a", "sha256": "0", "store": ""}]}',
        "[" * 100_000,
    ],
)
def test_a_file_that_is_none_is_an_error_and_opens_nothing(file, text):
    file.path.parent.mkdir()
    file.path.write_text(text)
    with pytest.raises(FormatError):
        Access(file)


def test_a_file_that_is_no_text_or_cannot_be_read_is_an_error(file):
    file.path.parent.mkdir()
    file.path.write_bytes(b"\xff")
    with pytest.raises(FormatError, match="not UTF-8"):
        file.read()
    file.path.unlink()
    file.path.mkdir()
    with pytest.raises(RepositoryError, match="cannot read"):
        file.read()
    with pytest.raises(RepositoryError):
        KeyFile(file.path / "x" / ("y" * 300)).add("a")


def test_nothing_is_half_written(file, monkeypatch):
    file.add("desk")
    before = file.path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("trainer.web.keys.sync", full)
    with pytest.raises(RepositoryError, match="No space left"):
        file.add("lab")
    assert file.path.read_bytes() == before
    assert not list(file.path.parent.glob("*draft*"))


def test_two_who_add_at_once_both_do(file):
    threads = [threading.Thread(target=file.add, args=(f"k{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {key.name for key in file.read()} == {f"k{i}" for i in range(8)}


def test_a_link_stays_one_and_its_file_is_changed(file, tmp_path):
    file.add("desk")
    link = tmp_path / "link.json"
    link.symlink_to(file.path)
    KeyFile(link).add("lab")
    KeyFile(link).drop("desk")
    assert link.is_symlink()
    assert [key.name for key in file.read()] == ["lab"]


def test_a_file_that_breaks_while_it_serves_lets_nobody_in_and_tells_nobody_where_it_is(file):
    key = file.add("desk")
    app = make_app("t", [], access=Access(file))
    assert get(app, "/x", headers={"x-api-key": key}).status_code == 404
    file.path.write_text("{")
    answer = get(app, "/x", headers={"x-api-key": key})
    assert answer.status_code == 503
    assert str(file.path) not in answer.text
