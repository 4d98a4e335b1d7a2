from __future__ import annotations

import gc

import pytest

from xpstore.collecting import put_off


def fail() -> None:
    with put_off():
        raise KeyError(gc.isenabled())


def test_collecting_goes_on_afterwards_whatever_happens() -> None:
    assert gc.isenabled()
    with pytest.raises(KeyError, match="False"):
        fail()
    assert gc.isenabled()


def test_who_had_turned_it_off_finds_it_off() -> None:
    with put_off():
        with put_off():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
