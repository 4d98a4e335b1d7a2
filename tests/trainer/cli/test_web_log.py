from __future__ import annotations

import logging

import pytest

from trainer.cli.web_log import write_log

WEB = logging.getLogger("xpstore.trace.web")


@pytest.fixture(autouse=True)
def _as_it_was():
    root = logging.getLogger()
    handlers, level = root.handlers[:], WEB.level
    yield
    root.handlers = handlers
    WEB.setLevel(level)


def test_warnings_are_written_without_what_moves_a_terminal(capsys):
    write_log(verbose=False)
    WEB.warning("a \x1b[2J client")
    WEB.info("a request")
    said = capsys.readouterr()
    assert "client" in said.err
    assert "\x1b" not in said.err
    assert "request" not in said.err
    assert not said.out


def test_requests_are_written_where_they_are_asked_for(capsys):
    write_log(verbose=True)
    WEB.info("a request")
    assert "a request" in capsys.readouterr().err
