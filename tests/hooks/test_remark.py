from __future__ import annotations

from hooks.remark import Remark, harmless, listed


def test_what_a_pusher_chose_cannot_drive_a_terminal_or_forge_a_line():
    text = harmless("a\x1b[31m\nremote: all is well\u202e\ttab")
    assert text == "a<U+001B>[31m<U+000A>remote: all is well<U+202E><U+0009>tab"


def test_what_is_legal_in_a_name_is_shown_as_it_is():
    assert harmless("退款-👩‍👧") == "退款-👩‍👧"


def test_a_remark_says_what_and_then_what_to_do():
    assert Remark("no", "do this").lines() == ["error: no", "hint: do this"]
    assert Remark("no", blocks=False).lines() == ["warning: no"]


def test_long_lists_are_cut_with_their_count():
    assert listed(["a", "b"]) == "a, b"
    assert listed(list("abcdefg")) == "a, b, c, d, e and 2 more"
