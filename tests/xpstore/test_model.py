from __future__ import annotations

from functools import cached_property

import pytest
from pydantic import ValidationError

from xpstore.model import Frozen


class Named(Frozen):
    name: str

    @cached_property
    def loud(self) -> str:
        return self.name.upper()


def test_a_value_cannot_be_changed():
    with pytest.raises(ValidationError):
        Named(name="a").name = "b"


def test_unknown_keys_are_errors():
    with pytest.raises(ValidationError):
        Named(name="a", colour="red")


def test_a_copy_computes_its_own_ids():
    first = Named(name="a")
    assert first.loud == "A"
    assert first.model_copy(update={"name": "b"}).loud == "B"
    assert first.loud == "A"
