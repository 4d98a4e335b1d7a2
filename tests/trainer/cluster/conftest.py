from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def ray_of_every_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has a home of its own, and Ray would keep the token of the first one in the process."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
