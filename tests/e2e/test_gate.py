"""The gate on the order desk that the demo makes: a good branch lands, and the gate can be trusted there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from trainer.demo import make
from xpstore.cli.main import run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.stress


def test_the_gate_of_the_demo_can_be_trusted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path / "desk")
    assert run(["-C", str(tmp_path / "desk"), "gate", "--self-test", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["cases"], found["trials"], found["comparisons"], found["failures"]) == (24, 4, 15, 0)
    assert found["called_progress"] <= 1
    assert (found["harm_decision"], found["problems"]) == ("reject", [])
