from __future__ import annotations

import json
import sys

import pytest

from xpstore.cli import output

HOSTILE = "ok\x1b[2J\x9b1m\r\u202e\u200bname\x07\n\ttab"


@pytest.fixture
def _terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(output, "to_terminal", lambda: True)


def test_text_is_plain_where_it_is_piped():
    assert output.paint(HOSTILE, "red", bold=True) == HOSTILE
    assert not output.coloured()


@pytest.mark.usefixtures("_terminal")
def test_control_characters_are_shown_on_a_terminal():
    shown = output.paint(HOSTILE)
    assert shown == "ok<U+001B>[2J<U+009B>1m<U+000D><U+202E><U+200B>name<U+0007>\n\ttab"
    assert output.paint("x\x1b", "red") == "\x1b[31mx<U+001B>\x1b[0m"


@pytest.mark.usefixtures("_terminal")
@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_colour_when_it_is_not_wanted(monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    assert output.paint("x", "red") == "x"


def test_emit_writes_one_object(capsys):
    output.emit({"name": "退票", "n": 1})
    out = capsys.readouterr().out
    assert json.loads(out) == {"name": "退票", "n": 1}
    assert "退票" in out


def test_progress_is_silent_without_a_terminal(capsys):
    with output.progress() as report:
        assert report is None
    assert capsys.readouterr().err == ""


def test_progress_draws_on_a_terminals_stderr(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with output.progress() as report:
        assert report is not None
        report("reading", 0, 2)
        report("reading", 2, 2)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "reading" in captured.err


def test_words_for_counts_and_ids():
    assert output.counted(1, "lesson") == "1 lesson"
    assert output.counted(2, "entry", "entries") == "2 entries"
    assert output.shortened("0123456789abcdef") == "012345678"
