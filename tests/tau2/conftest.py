"""tau2-bench has an environment of its own: `make tau2-parts`. Without it, all of this is skipped."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from trainer.environments.tau2 import guard

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.llm_server import LlmServer

ROOT = Path(__file__).resolve().parents[2]
DATA = os.environ.get("TAU2_DATA_DIR", "")
GIVEN = os.environ.get("XP_TAU2_PYTHON", "")
HOW = "`make tau2-parts` makes an environment with it"


@cache
def other_python() -> str:
    """Return a Python that has tau2-bench; "" where there is none."""
    if guard.is_here():
        return sys.executable
    made = ROOT / ".venv-tau2" / "bin" / "python"
    return GIVEN or (str(made) if made.parents[1].joinpath(".installed").exists() else "")


@pytest.fixture(scope="session")
def tau2_python() -> str:
    """Return the Python of the service."""
    if not other_python():
        pytest.skip(f"tau2-bench is not here: {HOW}")
    return other_python()


@pytest.fixture(scope="session")
def tau2_data(tau2_python: str) -> Path:
    """Return the folder of tau2's domains, without importing it: a source checkout has it elsewhere."""
    if DATA:
        return Path(DATA) / "tau2" / "domains"
    code = "from importlib.util import find_spec as f; print(f('tau2').submodule_search_locations[0])"
    found = subprocess.run([tau2_python, "-c", code], capture_output=True, text=True, check=True)
    return Path(found.stdout.strip()) / "data" / "tau2" / "domains"


@pytest.fixture(scope="session")
def tau2_here() -> None:
    """Skip where this Python itself has no tau2-bench."""
    if not guard.is_here():
        pytest.skip(f"needs a Python that has tau2-bench: {HOW}, and `make tau2` runs this in it")


@pytest.fixture
def models() -> Iterator[LlmServer]:
    from tests.llm_server import LlmServer  # noqa: PLC0415  # as tests/conftest.py does

    server = LlmServer()
    try:
        yield server
    finally:
        server.close()
