"""A store with cases in the scripted environment, found by `-C s` from where the test works."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.trainer.case_store import install_scripted, make_case_store
from tests.trainer.doubles import CaseEditor
from tests.trainer.gate_store import make_gate_store

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def case_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(install_scripted(tmp_path / "site")))
    monkeypatch.setattr("trainer.assembly.OfflineEditor", CaseEditor)
    monkeypatch.chdir(tmp_path)
    return make_case_store(tmp_path / "s", train=["a", "b"], gate=["g"], test=["d", "e"])


@pytest.fixture(scope="session")
def gate_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_gate_store(tmp_path_factory.mktemp("gate") / "s")


@pytest.fixture
def gate_store(gate_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store whose candidates are better, worse, and neither."""
    monkeypatch.syspath_prepend(str(install_scripted(tmp_path / "site")))
    monkeypatch.chdir(tmp_path)
    shutil.copytree(gate_template, tmp_path / "s", symlinks=True)
    return tmp_path / "s"
