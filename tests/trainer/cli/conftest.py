"""A store with cases in the scripted environment, found by `-C s` from where the test works."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.trainer.case_store import install_scripted, make_case_store
from tests.trainer.doubles import CaseEditor

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def case_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(install_scripted(tmp_path / "site")))
    monkeypatch.setattr("trainer.assembly.OfflineEditor", CaseEditor)
    monkeypatch.chdir(tmp_path)
    return make_case_store(tmp_path / "s", train=["a", "b"], gate=["g"], test=["d", "e"])
