import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xpstore.exchange.stamp import BLANK, HEX, is_intact, stamped

PLACE = re.compile(rf"^stamp: {HEX}$", re.MULTILINE)


@given(st.text(), st.text())
def test_a_stamped_text_is_intact_until_it_is_changed(before, after):
    text = f"{before}\nstamp: {BLANK}\n{after}".encode("utf-8", "replace").decode()
    made = stamped(text, PLACE)
    assert is_intact(made, PLACE)
    assert not is_intact(made + "x", PLACE)
    assert not is_intact("x" + made, PLACE)


def test_line_ends_and_a_last_line_break_are_no_change():
    made = stamped(f"stamp: {BLANK}\na\n", PLACE)
    assert is_intact(made.replace("\n", "\r\n"), PLACE)
    assert is_intact(made.rstrip("\n"), PLACE)
    assert is_intact(made + "\n", PLACE)


def test_of_several_places_the_last_counts():
    made = stamped(f"stamp: {BLANK}\nstamp: {BLANK}\n", PLACE)
    assert made.startswith(f"stamp: {BLANK}\n")
    assert is_intact(made, PLACE)


def test_a_text_without_a_place_for_it_is_a_defect():
    assert not is_intact("no digest", PLACE)
    with pytest.raises(ValueError, match="no place"):
        stamped("no digest", PLACE)
