from __future__ import annotations

import inspect

import pytest

from xpstore import errors
from xpstore.errors import Conflict, ConflictError, UsageError, XpError

ALL = [c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, XpError)]


@pytest.mark.parametrize("kind", ALL)
def test_wrong_use_is_two_and_no_is_one(kind):
    assert kind.exit_code == (2 if issubclass(kind, UsageError) else 1)


@pytest.mark.parametrize("kind", ALL)
def test_the_tree_in_the_docstring_names_every_error(kind):
    assert kind.__name__ in (errors.__doc__ or "")


def test_a_conflict_names_the_files_in_json():
    kept = ("xp/conflict/1", "train/a b")
    error = ConflictError("changed", (Conflict("a", "1", "2", "3"),), hint="merge", kept=kept)
    assert error.as_json() == {
        "error": "ConflictError",
        "message": "changed",
        "hint": "merge",
        "conflicts": ["a"],
        "kept": ["xp/conflict/1", "train/a b"],
        "next": ["xp resolve xp/conflict/1", "xp resolve 'train/a b'"],
    }
