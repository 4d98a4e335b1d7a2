"""Every test runs with a HOME, a git configuration and a locale of its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pygit2
import pytest
from hypothesis import settings
from pygit2.enums import ConfigLevel

from tests.llm_server import LlmServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# The suite draws the same examples every time, so that it never fails by chance; `make stress` draws anew.
settings.register_profile("steady", derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.fixture(autouse=True)
def isolated_git(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the empty HOME of this test; nothing of the machine's git set-up is seen."""
    home = tmp_path_factory.mktemp("home")
    for key in [k for k in os.environ if k.startswith(("GIT_", "XP_", "OPENAI_"))]:
        monkeypatch.delenv(key)
    for key in ("EMAIL", "PAGER", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("TZ", "UTC")
    # libgit2 looks HOME up once, when it is loaded
    paths = pygit2.settings.search_path
    levels = (ConfigLevel.GLOBAL, ConfigLevel.XDG, ConfigLevel.SYSTEM)
    before = {level: paths[level] for level in levels}
    paths[ConfigLevel.GLOBAL] = str(home)
    paths[ConfigLevel.XDG] = str(home / ".config" / "git")
    paths[ConfigLevel.SYSTEM] = str(home / "none")
    yield home
    for level, value in before.items():
        paths[level] = value


@pytest.fixture
def llm_server() -> Iterator[LlmServer]:
    """A scripted endpoint on loopback; `LlmSettings(model="scripted", base_url=llm_server.url)`."""
    server = LlmServer()
    yield server
    server.close()
