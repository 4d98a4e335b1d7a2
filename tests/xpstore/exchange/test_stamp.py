import pytest
from hypothesis import given
from hypothesis import strategies as st

from xpstore.exchange.stamp import BLANK, is_intact, stamped


@given(st.text(), st.text())
def test_a_stamped_text_is_intact_until_it_is_changed(before, after):
    text = f"{before}\nxp-digest: '{BLANK}'\n{after}".encode("utf-8", "replace").decode()
    made = stamped(text)
    assert is_intact(made)
    assert not is_intact(made + "x")
    assert not is_intact("x" + made)


@pytest.mark.parametrize("line", ['  "xp_digest": "{}",', "xp-digest={} -->", "  xp-digest: {}"])
def test_the_digest_stands_in_yaml_json_and_comments(line):
    assert is_intact(stamped(line.format(BLANK)))


def test_a_text_without_a_place_for_it_is_a_defect():
    assert not is_intact("no digest")
    with pytest.raises(ValueError, match="no place"):
        stamped("no digest")
