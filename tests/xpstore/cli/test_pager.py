from __future__ import annotations

import pytest

from xpstore.cli import output
from xpstore.cli.pager import page


@pytest.fixture
def _terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("xpstore.cli.pager.to_terminal", lambda: True)
    monkeypatch.setattr(output, "to_terminal", lambda: True)


def test_no_pager_where_it_is_piped(capsys):
    page(["a", "b"], "false")
    assert capsys.readouterr().out == "a\nb\n"


@pytest.mark.usefixtures("_terminal")
def test_a_pager_gets_the_lines_and_gits_settings(capfd):
    page(["one", "zwei 二"], 'echo "$LESS"; cat')
    assert capfd.readouterr().out == "FRX\none\nzwei 二\n"


@pytest.mark.usefixtures("_terminal")
def test_a_reader_who_quits_the_pager_is_no_error(capfd):
    page(("x" * 100 for _ in range(10_000)), "head -n1")
    assert capfd.readouterr().out == "x" * 100 + "\n"
