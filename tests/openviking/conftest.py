"""OpenViking is in an environment of its own, which `make openviking` makes. Without, all is skipped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.openviking_world import BothModels, openviking_python, openviking_server

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.openviking)


@pytest.fixture(scope="session")
def python() -> str:
    return openviking_python()


@pytest.fixture(scope="session")
def model(python: str) -> Iterator[BothModels]:
    del python  # without OpenViking nobody asks
    model = BothModels()
    yield model
    model.close()


@pytest.fixture(scope="session")
def openviking(model: BothModels, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real server of OpenViking."""
    with openviking_server(tmp_path_factory.mktemp("openviking") / "server", model) as url:
        yield url
