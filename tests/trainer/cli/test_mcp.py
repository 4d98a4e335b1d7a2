from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import pytest

from tests.builders import make_store
from xpstore.cli.main import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_store(tmp_path / "s")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--branch", "nope"), 1, "error: there is no branch 'nope'"),
        (("--at", "nope"), 1, "nope"),
        (("--at", "main", "--branch", "main"), 2, "error: --branch and --at exclude each other"),
        (("--embeddings",), 2, "error: no model for embeddings is named"),
        (("more",), 2, "error: Got unexpected extra argument"),
    ],
)
def test_what_cannot_be_served_is_said_before_anything_is(words, code, said, capsys):
    before = signal.getsignal(signal.SIGINT)
    assert run(["-C", "s", "mcp", *words]) == code
    assert signal.getsignal(signal.SIGINT) is before
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def test_without_the_package_it_says_what_to_install(monkeypatch, capsys):
    for name in [name for name in sys.modules if name.startswith("trainer.mcp_server.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert run(["-C", "s", "mcp"]) == 2
    said = capsys.readouterr().err
    assert said == (
        "error: xp mcp needs the package 'mcp', which is not installed\nhint: pip install 'xpstore[mcp]'\n"
    )
