from __future__ import annotations

import logging
import sys
from contextlib import suppress

import pytest

from trainer.cli.web_log import write_log

WEB, ENV = logging.getLogger("xpstore.trace.web"), logging.getLogger("xpstore.trace.env")


@pytest.fixture(autouse=True)
def _as_it_was():
    root = logging.getLogger()
    handlers, levels = root.handlers[:], [(log, log.level) for log in (WEB, ENV)]
    yield
    root.handlers = handlers
    for log, level in levels:
        log.setLevel(level)


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
    ENV.info("a rollout")
    assert "a request\na rollout\n" in capsys.readouterr().err


def test_a_log_that_cannot_be_written_disturbs_nobody(monkeypatch):
    write_log(verbose=False)
    with open("/dev/full", "w", buffering=1) as full:  # noqa: PTH123  # a device
        monkeypatch.setattr(sys, "stderr", full)
        WEB.warning("a warning")
        monkeypatch.undo()
        with suppress(OSError):
            full.close()
