from __future__ import annotations

import pytest

from trainer.environments.options import Options


def test_options_are_read_by_name_and_have_defaults():
    given = Options({"seed": 3, "share": 1, "who": "llm"})
    assert given.whole("seed", 7) == 3
    assert given.number("share", 0.5, least=0, most=1) == 1.0
    assert given.text("who", "scripted", ("scripted", "llm")) == "llm"
    assert given.whole("turns", 40, least=1) == 40
    given.check_all_read()


def test_what_nobody_reads_is_refused_with_what_there_is():
    given = Options({"sed": 3})
    given.whole("seed", 7)
    with pytest.raises(ValueError, match="no option 'sed' here, only seed"):
        given.check_all_read()


@pytest.mark.parametrize("value", ["1", True, 1.5, None, [], {}])
def test_a_whole_number_is_one(value):
    with pytest.raises(TypeError, match="n must be a whole number"):
        Options({"n": value}).whole("n", 1)


@pytest.mark.parametrize(("value", "kind"), [("x", TypeError), (True, TypeError), (2.5, ValueError)])
def test_a_number_is_within_its_bounds(value, kind):
    with pytest.raises(kind, match="n must be a number"):
        Options({"n": value}).number("n", 1.0, least=0, most=2)


def test_a_whole_number_has_a_least():
    with pytest.raises(ValueError, match="n must be at least 1, not 0"):
        Options({"n": 0}).whole("n", 1, least=1)


def test_a_text_is_one_of_its_choices():
    with pytest.raises(TypeError, match="who must be a text"):
        Options({"who": 1}).text("who", "")
    with pytest.raises(ValueError, match="who must be one of a, b, not 'c'"):
        Options({"who": "c"}).text("who", "a", ("a", "b"))
