from __future__ import annotations

import sys

import pytest

from trainer.cli.extra import extra
from xpstore.errors import UsageError


def test_a_missing_package_is_told_with_the_line_to_type(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(UsageError, match="xp serve needs the package 'uvicorn'") as told, load("uvicorn"):
        import uvicorn.config  # noqa: F401
    assert told.value.hint == "pip install 'xpstore[serve]'"


def test_whatever_else_does_not_import_stays_a_defect():
    with pytest.raises(ModuleNotFoundError), load("uvicorn"):
        import no_such_module  # noqa: F401
    with pytest.raises(ImportError, match="cannot import name"), load("uvicorn"):
        from json import no_such_name  # noqa: F401


def load(package: str):
    return extra("serve", frozenset({package}), "xp serve")
