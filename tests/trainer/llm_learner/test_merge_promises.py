"""Whatever a model answers, a merge keeps its promises: nothing raises, and nothing that stands is lost."""

from __future__ import annotations

import asyncio
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trainer.llm_learner.askers import FunctionAsker
from tests.trainer.llm_learner.edits import context_of, edit, text
from trainer.asking.question import Answer, Usage
from trainer.llm_learner.merger import LlmMerger
from trainer.llm_learner.resolver import Decision, LLMResolver
from xpstore.document import Document
from xpstore.polarity import contradictions
from xpstore.resolution import resolve

BY_HAND = "Be kind to children, as Ann says."
ZIP = "Ask for the order number and the zip code before you cancel."
MAIL = "Ask for the order number and the email before you cancel."
NEVER = "Never cancel a paid order."
ALWAYS = "Always cancel a paid order."
OLD = text("a", BY_HAND, ZIP)
NEAR = text("b", ZIP, "Window seats are free of charge.")
PAGES = {"a": OLD, "b": NEAR}
EDITS = (
    edit("a", OLD, text("a", BY_HAND, MAIL)),
    edit("a", OLD, text("a", BY_HAND, ZIP, NEVER)),
    edit("c", None, text("c", ALWAYS, ZIP), supersedes=("b",)),
)
CONTEXT = context_of(*EDITS, **PAGES)

BOTH = "Ask for the order number, the zip code and the email before you cancel."
NUMBERS = st.sampled_from([*range(1, 9), 100, 101])
TEXTS = st.sampled_from([BOTH, ZIP, NEVER, "- x\n- y", "## H"])


def fate(
    number: int, what: str = "kept", into: int = 0, page: str = "", reason: str = ""
) -> dict[str, object]:
    return {"number": number, "fate": what, "into": into, "page": page, "reason": reason}


# 1 is by hand, 2 MAIL is new and 3 ZIP gone by the first edit, 4 is new; c: 5, 6 ZIP; b: 7 ZIP, 8 seats
LIKELY = {
    1: [fate(1, page="c"), fate(1, "dropped", reason="old")],
    2: [fate(2), fate(2), fate(2, "merged", 100), fate(2, "dropped", reason="x")],
    3: [fate(3), fate(3, "superseded", 2), fate(3, "merged", 100), fate(3, "dropped", reason="taken out")],
    4: [fate(4), fate(4, page="d"), fate(4, "dropped", reason="the opposite")],
    5: [fate(5), fate(5, page="a"), fate(5, "superseded", 4), fate(5, "dropped", reason="the opposite")],
    6: [fate(6), fate(6, page="a"), fate(6, "merged", 3), fate(6, "merged", 7), fate(6, "merged", 100)],
    7: [fate(7), fate(7, page="c"), fate(7, "merged", 3), fate(7, "merged", 6), fate(7, "superseded", 6)],
    8: [fate(8), fate(8, page="c"), fate(8, page="d"), fate(8, "merged", 2), fate(8, "dropped", reason="x")],
}
OFTEN = {1: 9, 7: 2, 8: 2}  # nothing is said of it, more or less often
ACCOUNTS = st.tuples(
    *(st.sampled_from([*rows, *[None] * OFTEN.get(number, 0)]) for number, rows in LIKELY.items())
).map(lambda rows: [row for row in rows if row is not None])
SPLIT = {"page": "d", "change": "new", "name": "", "description": "Before you cancel an order."}
GONE = {"page": "b", "change": "deleted", "name": "", "description": ""}
CHANGES = [
    *[None] * 9,
    GONE,
    {"page": "a", "change": "renamed", "name": "z", "description": ""},
    {"page": "c", "change": "renamed", "name": "a", "description": ""},
    {"page": "a", "change": "deleted", "name": "", "description": ""},
]
WORDINGS = [
    {"number": 100, "text": BOTH, "page": "a", "section": "Approach"},
    {"number": 100, "text": BOTH, "page": "b", "section": "Other"},
    {"number": 101, "text": NEVER, "page": "a", "section": "Approach"},
]


@st.composite
def answers(draw):
    """An answer that is right or nearly so: what it mentions is mostly there."""
    account = draw(ACCOUNTS)
    pages = [change for change in [draw(st.sampled_from(CHANGES))] if change]
    gone = [row for row in account if row["number"] in {7, 8} and (row["page"] or row["fate"] != "kept")]
    if len(gone) == 2 and not pages:
        pages.append(GONE)
    if any(row["page"] == "d" for row in account):
        pages.append(SPLIT)
    wordings = [WORDINGS[0]] if any(row["into"] == 100 for row in account) else []
    wordings += draw(st.lists(st.sampled_from([*WORDINGS, *[None] * 9]), max_size=1))
    return {"account": account, "wordings": [w for w in wordings if w], "pages": pages}


def said(pages: dict[str, str]) -> list[str]:
    return [s.text for page in pages.values() for s in Document.parse(page).statements()]


@settings(max_examples=50, deadline=None)
@given(answers())
def test_what_no_edit_touches_is_there_in_the_end_and_what_edits_add_is_accounted_for(answer):
    outcome = asyncio.run(LlmMerger(FunctionAsker(lambda *_: answer)).merge(CONTEXT))
    pages = dict(PAGES)
    for operation in outcome.operations:
        if operation.content is None:
            del pages[operation.name]
        else:
            pages[operation.name] = operation.content
    standing = said(pages)
    assert f"- {BY_HAND}" in standing
    rows = {row.text for operation in outcome.operations for row in operation.account}
    refused = {refusal.name for refusal in outcome.refused}
    for lesson in (ZIP, MAIL, NEVER, ALWAYS, "Window seats are free of charge."):
        assert f"- {lesson}" in standing or f"- {lesson}" in rows or refused or outcome.idle
    for page in pages.values():
        assert not list(contradictions(s.text for s in Document.parse(page).statements()))
    assert max(Counter((o.name) for o in outcome.operations).values(), default=1) == 1


CLAIMS = st.fixed_dictionaries(
    {
        "number": NUMBERS,
        "fate": st.sampled_from(["kept", "kept", "merged", "superseded", "dropped"]),
        "into": st.sampled_from([0, *range(1, 9), 100]),
        "reason": st.sampled_from(["", "said already"]),
    }
)
NEW = st.fixed_dictionaries({"number": NUMBERS, "text": TEXTS})
BASE, OURS, THEIRS = (
    text("a", BY_HAND, *more) for more in ((ZIP,), (MAIL, NEVER), (f"{ZIP[:-1]} it.", ALWAYS))
)
DECISIONS = st.fixed_dictionaries(
    {
        "unclear": st.sampled_from(["", "", "", "who knows"]),
        "hunks": st.lists(
            st.fixed_dictionaries(
                {
                    "wordings": st.lists(
                        st.fixed_dictionaries({"number": NUMBERS, "text": TEXTS}), max_size=2
                    ),
                    "stands": st.lists(NUMBERS, max_size=6),
                }
            ),
            max_size=3,
        ),
        "account": st.lists(CLAIMS, max_size=8),
    }
)


@settings(max_examples=50, deadline=None)
@given(DECISIONS)
def test_no_answer_about_a_conflict_loses_what_both_sides_have_or_joins_opposites(answer):
    def ask(question):
        value = Decision.model_validate(answer)
        return (
            Answer(value, Usage())
            if not question.check(value)
            else Answer(Decision(hunks=(), account=(), unclear="x"), Usage())
        )

    found = resolve(BASE, OURS, THEIRS, LLMResolver("llm/1+m", "m", ask))
    standing = said({"a": found.text or ""})
    assert f"- {BY_HAND}" in standing
    assert not list(contradictions(standing))
