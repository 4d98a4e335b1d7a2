"""Benchmarks print tables; they assert what was done, never how long it took.

All methods of a table run in one process, interleaved in random order, and are compared as ratios of
medians: a slow or busy machine changes the milliseconds and hardly the ratios.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  # a file system without a disk is what is wanted


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="sizes of the published tables; takes long")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.stress)


@pytest.fixture
def full(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--full"))


@pytest.fixture
def memory() -> Iterator[Path]:
    """Return a directory in memory: what is timed there is CPU only."""
    if not SHARED_MEMORY.is_dir():
        pytest.skip("no /dev/shm: CPU alone cannot be measured here")
    path = Path(tempfile.mkdtemp(dir=SHARED_MEMORY))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Return a directory on the disk."""
    yield tmp_path
    shutil.rmtree(tmp_path)
