"""A store with decisions of a gate, made once and copied for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gated import copied, make_desk

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gated import Desk


@pytest.fixture(scope="session")
def desk_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("desk")
    make_desk(folder)
    return folder


@pytest.fixture(scope="session")
def inner_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inner")
    make_desk(folder, "agents/desk")
    return folder


@pytest.fixture
def desk(desk_template: Path, tmp_path: Path) -> Desk:
    """The store is a repository of its own."""
    return copied(desk_template, tmp_path)
