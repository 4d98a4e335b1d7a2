from __future__ import annotations

import pytest

from xpstore.polarity import command, contradict, contradictions

OPPOSITE = [
    ("- IF cabin is basic DO call `cancel`", "- IF cabin is basic DO NOT call `cancel`"),
    ("- IF x THEN DO call `cancel`", "- IF x DO NOT call `cancel`"),
    ("- IF x DO call `cancel` twice", "- IF x DO NOT call `cancel` at all"),
    ("- IF x DO ask", "1. IF x DO NOT ask."),
    ("- When the user asks, call `refund`.", "- When the user asks, do not call `refund`."),
    ("- When the user asks, call get_user first", "- When the user asks, never call get_user"),
    ("- Never guess ids.", "* Always guess ids"),
    ("- You should not ask", "You should ask"),
    ("- Don't ask twice", "- Do ask twice"),
    ("- Don’t ask twice", "- Ask twice"),
    ("- **Never** ask", "- _Always_ ask"),
    ("- 不要退款", "- 退款"),
    ("- 如果舱位是经济舱，不要退款", "- 如果舱位是经济舱，退款"),
    ("- 必须确认", "- 禁止确认"),
    ("- IF a DO ask\n  *Support: 1*", "- IF a DO NOT ask\n  *Support: 2*"),
]
COMPATIBLE = [
    ("- a", "- b"),
    ("- a", "- a"),
    ("- IF cabin is not basic DO call `cancel`", "- IF cabin is basic DO NOT call `cancel`"),
    ("- IF the user does not pay DO call `cancel`", "- IF the user does pay DO call `cancel`"),
    ("- IF x DO call `cancel`", "- IF y DO NOT call `cancel`"),
    ("- IF x DO call `cancel`", "- IF x DO NOT call `refund`"),
    ("- If a > 1, ask", "- If a < 1, do not ask"),
    ("- IF cost >= 3 DO ask", "- IF cost >= 4 DO NOT ask"),
    ("- Never call `cancel` first.", "- Call `cancel` last."),
    ("- IF x DO ask for the id", "- IF x DO NOT ask for the birthday"),
]


@pytest.mark.parametrize(("one", "other"), OPPOSITE)
def test_opposite_commands(one, other):
    assert contradict(command(one), command(other))
    assert contradict(command(other), command(one))


@pytest.mark.parametrize(("one", "other"), COMPATIBLE)
def test_commands_that_can_both_be_followed(one, other):
    assert not contradict(command(one), command(other))
    assert not contradict(command(other), command(one))


def test_all_pairs_are_found():
    texts = ["- Always ask", "- x", "- Never ask", "- Do not ask"]
    assert list(contradictions(texts)) == [("- Always ask", "- Never ask"), ("- Always ask", "- Do not ask")]
