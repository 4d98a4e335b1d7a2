from __future__ import annotations

import pytest

from tests.trainer.doubles import page
from trainer.bisect.reads import FLOOR, pages_read, prior, statements_of
from trainer.domain import Message, TextPart, ToolPart
from xpstore.experience import Experience, ExperienceSet

SAID = "Ask for the order number before anything else."
PAGES = ExperienceSet(
    root_uri="experiences",
    policies=(
        Experience(name="refund", text=page("refund", "Ask for the order number\n  before anything else.")),
        Experience(name="short", text=page("short", "Be kind.")),
        Experience(name="broken", text="---\n[\n---\n"),
    ),
)


def say(text: str) -> Message:
    return Message(role="system", parts=(TextPart(text=text),))


def test_a_page_was_read_where_one_of_its_statements_stands():
    statements = statements_of(PAGES)
    assert pages_read([say(f"{SAID}\n Be  kind.")], statements) == {"refund"}
    assert pages_read([say("nothing of the kind")], statements) == frozenset()
    looked_up = ToolPart(tool_id="1", tool_name="read", tool_output=f"- {SAID}")
    assert pages_read([Message(role="assistant", parts=(looked_up,))], statements) == {"refund"}


def test_the_prior_is_even_without_votes_and_as_stated_with_them():
    changed = [{"a"}, {"b"}, {"a", "c"}, {"d"}]
    assert prior(changed, []) == (0.25,) * 4
    assert prior(changed, [{"x"}]) == (0.25,) * 4
    found = prior(changed, [{"a"}, {"b", "x"}])
    floor = FLOOR / 4
    assert found == pytest.approx([floor + (1 - FLOOR) * share for share in (0.25, 0.5, 0.25, 0.0)])
    assert sum(found) == pytest.approx(1)
