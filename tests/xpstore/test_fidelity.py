from __future__ import annotations

import pytest

from xpstore import fidelity


def test_content_is_what_a_statement_is_about():
    assert fidelity.content("- Ask for the orders that were refunded.") == {"ask", "order", "refund"}
    assert fidelity.contained("- Refund orders.", "- Always refund every order at once.") == 1.0
    assert fidelity.contained("- Refund orders.", "- Cancel the order.") == 0.5
    assert fidelity.contained("- The.", "- Anything.") == 1.0


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("- Wait 24 hours.", {"24"}),
        ("- Wait two hours.", {"two"}),
        ("3. Call `get_order` once.", {"get_order"}),
        ("- See https://example.org/a/b?c=1.", {"https://example.org/a/b?c=1"}),
        ("- Look at /var/log/x.log and src/a.py.", {"/var/log/x.log", "src/a.py"}),
        ("- Ticket F-17 costs 1.50 euros and/or nothing.", {"F-17", "1.50"}),
        ("- IF it rains DO NOT go.", set()),
        ("- The PIN is secret.", {"PIN"}),
    ],
)
def test_names_are_what_must_not_be_invented(text, names):
    assert fidelity.names(text) == names


@pytest.mark.parametrize(
    ("target", "number"),
    [
        ("- Basic fares wait 24 hours, gold fares wait 48 hours.", ""),
        ("- Basic fares wait 48 hours, gold fares wait 24 hours.", "48"),
        ("- Gold fares wait 48 hours and basic fares wait 24 hours.", ""),
        ("- Basic fares wait two hours.", ""),
    ],
)
def test_numbers_stand_where_their_sources_have_them(target, number):
    sources = ["- Basic fares wait 24 hours.", "- Gold fares wait 48 hours."]
    assert fidelity.misplaced(target, sources) == number


@pytest.mark.parametrize(
    ("source", "target", "word"),
    [
        ("- Do not cancel the order.", "- Never cancel the order.", ""),
        ("- Do not cancel the order.", "- Cancel the order.", "cancel"),
        ("- Never shout.", "- Speak.", "shout"),
        ("- Close without a note.", "- Close with a note.", "note"),
        ("- 不要取消订单。", "- 取消订单。", "要取"),
    ],
)
def test_a_lost_negation_is_named(source, target, word):
    found = fidelity.lost_negation(source, target)
    assert bool(found) == bool(word)
    if source.isascii():
        assert found == word


def test_a_gained_negation_is_named():
    assert fidelity.gained_negation(["- Cancel the order."], "- Never cancel the order.") == "cancel"
    assert fidelity.gained_negation(["- Do not cancel it."], "- Never cancel it.") == ""
