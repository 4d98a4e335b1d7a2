"""Every test runs with a HOME, a git configuration and a locale of its own."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.homes import libgit2_home
from tests.llm_server import LlmServer
from xpstore.cli.main import COLLECT_AFTER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Tests start many Pythons: where those may not keep what they compile, each compiles the program anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell starts what runs behind it deaf to Ctrl-C: tests that press it would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The workers of the suite use all processors already; threads for small matrices only wait for each other.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

# The suite draws the same examples every time, so that it never fails by chance; `make stress` draws anew.
settings.register_profile("steady", derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Leave what was collected, which stays until the end, out of every later search for garbage.

    And search as seldom as `xp` does.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 10, 10)


@pytest.fixture(scope="session", autouse=True)
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return where the tests have their HOMEs; nothing of the machine's set-up is seen from here on."""
    homes = tmp_path_factory.mktemp("homes")
    with pytest.MonkeyPatch.context() as patched:
        for key in [k for k in os.environ if k.startswith(("GIT_", "XP_", "OPENAI_"))]:
            patched.delenv(key)
        for key in ("EMAIL", "PAGER", "NO_COLOR", "FORCE_COLOR"):
            patched.delenv(key, raising=False)
        patched.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patched.setenv("LANG", "C.UTF-8")
        patched.setenv("LC_ALL", "C.UTF-8")
        patched.setenv("TZ", "UTC")
        # No test here can see a power cut: those that care what is waited for have an `fsync` of their own.
        patched.setattr(os, "fsync", os.fstat)
        with at_home(homes / "shared", patched):
            yield homes


@pytest.fixture(autouse=True)
def isolated_git(homes: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the empty HOME of this test."""
    home = homes / str(next(_tests))
    with at_home(home, monkeypatch):
        yield home


_tests = count()


@contextmanager
def at_home(home: Path, patched: pytest.MonkeyPatch) -> Iterator[None]:
    home.mkdir()
    patched.setenv("HOME", str(home))
    patched.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    patched.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    with libgit2_home(home):
        yield


@pytest.fixture
def llm_server() -> Iterator[LlmServer]:
    """A scripted endpoint on loopback; `LlmSettings(model="scripted", base_url=llm_server.url)`."""
    server = LlmServer()
    yield server
    server.close()
