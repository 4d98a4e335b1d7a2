from __future__ import annotations

import os

import pytest

from trainer.asking import answers as module
from trainer.asking.answers import Answers


def test_an_answer_is_there_for_later_runs(tmp_path):
    folder = tmp_path / "xpstore.answers"
    Answers(folder).keep("ab12", "text ✓")
    assert Answers(folder).find("ab12") == "text ✓"
    assert Answers(folder).find("cd34") is None
    assert Answers(None).find("ab12") is None
    assert [f.name for f in folder.iterdir()] == ["ab12"]


@pytest.mark.parametrize(
    ("text", "is_kept"),
    [
        ('{"lessons": [{"text": "Ask first.", "quotes": ["my mail is <email:1>"]}]}', True),
        ('Here:\n```json\n{ "lesson":   "Ask ✓"  }\n```\n', True),
        ('{"lesson": "Write to pat.doe@example.com"}', False),
        ('{"lesson": "password=hunter2-hunter2"}', False),
        ("Ask \ud800", True),
    ],
)
def test_nobody_else_reads_them_and_what_is_private_is_not_kept(tmp_path, text, is_kept):
    folder = tmp_path / "xpstore.answers"
    kept = Answers(folder)
    kept.keep("ab12", text)
    assert kept.find("ab12") == text, "the run has its answer"
    found = list(folder.iterdir()) if folder.exists() else []
    assert [f.name for f in found] == (["ab12"] if is_kept else [])
    assert {f.stat().st_mode & 0o777 for f in found} <= {0o600}
    assert not found or folder.stat().st_mode & 0o777 == 0o700


def test_asked_again_only_the_run_itself_answers(tmp_path):
    Answers(tmp_path).keep("ab12", "old")
    again = Answers(tmp_path, again=True)
    assert again.find("ab12") is None
    again.keep("ab12", "new")
    assert (again.find("ab12"), Answers(tmp_path).find("ab12")) == ("new", "new")


def test_what_is_damaged_is_none(tmp_path):
    (tmp_path / "ab12").write_bytes(b"\xff\xfe")
    (tmp_path / "cd34").mkdir()
    assert [Answers(tmp_path).find(name) for name in ("ab12", "cd34")] == [None, None]


def test_where_nothing_can_be_written_the_run_goes_on(tmp_path):
    (tmp_path / "file").write_text("")
    kept = Answers(tmp_path / "file")
    kept.keep("ab12", "text")
    assert kept.find("ab12") == "text"
    kept.keep("cd34", "half \ud800")
    assert kept.find("cd34") == "half \ud800"
    assert not list(tmp_path.glob("*.draft"))


def test_what_nobody_asks_for_goes_first(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_FILES", 3)
    old = Answers(tmp_path)
    for number in range(4):
        old.keep(f"old{number}", "text")
        os.utime(tmp_path / f"old{number}", (number, number))
    assert Answers(tmp_path).find("old0") == "text"
    Answers(tmp_path).keep("new", "text")
    assert sorted(f.name for f in tmp_path.iterdir()) == ["new", "old0", "old3"]


def test_the_folder_has_a_size_too(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 250)
    for number in range(5):
        Answers(tmp_path).keep(f"n{number}", "x" * 100)
        os.utime(tmp_path / f"n{number}", (number, number))
    Answers(tmp_path).keep("last", "x" * 100)
    assert sorted(f.name for f in tmp_path.iterdir()) == ["last", "n4"]
