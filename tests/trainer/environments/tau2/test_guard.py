from __future__ import annotations

import sys

import pytest

from trainer.environments.tau2 import guard
from xpstore.errors import UsageError


def test_a_package_of_that_name_is_not_enough(tmp_path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "tau2").mkdir()
    (tmp_path / "tau2" / "__init__.py").write_text("raise AssertionError('nothing is imported')", "utf-8")
    others = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "tau2"}
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        assert not guard.is_here()
        with pytest.raises(UsageError, match="not installed"):
            guard.check_here()
        (tmp_path / "tau2" / "registry.py").write_text("", "utf-8")
        assert guard.is_here()
    finally:
        sys.modules.pop("tau2", None)
        sys.modules.update(others)
