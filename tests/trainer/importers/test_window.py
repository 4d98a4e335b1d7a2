import io

import pytest

from trainer.importers.window import CutOffError, Window


def window(text, limit=100):
    made = Window(io.BytesIO(text.encode()), b"", 1, limit)
    made.next()
    return made


def test_members_and_elements():
    made = window('{\n"a": [1,\n2]}')
    made.expect("{")
    assert made.key() == "a"
    assert list(made.elements()) == [(2, 1), (3, 2)]
    made.expect("}")
    assert made.passed == 14
    assert made.next() == ""


def test_room_is_what_is_left_of_the_limit():
    made = window('"' + "x" * 50 + '"')
    with pytest.raises(CutOffError, match="a value of more than 0 MB"):
        made.value(20)
    assert window('"' + "x" * 50 + '"').value(60) == "x" * 50


def test_what_was_expected_is_said_with_its_line():
    made = window("\n\n]")
    with pytest.raises(CutOffError, match=r"'\{' was expected") as caught:
        made.expect("{")
    assert caught.value.line == 3
