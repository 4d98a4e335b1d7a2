"""The broken store, made once and copied."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.trainer.bisect.broken import make_broken_store
from tests.trainer.case_store import install_scripted
from xpstore.location import Location

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def broken_template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("broken") / "s"
    make_broken_store(root)
    return root


@pytest.fixture
def broken(broken_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Location:
    """A store with 8 suspects, the fifth of which breaks case c; found by `-C s`."""
    monkeypatch.syspath_prepend(str(install_scripted(tmp_path / "site")))
    monkeypatch.chdir(tmp_path)
    shutil.copytree(broken_template, tmp_path / "s", symlinks=True)
    return Location.find(tmp_path / "s")
