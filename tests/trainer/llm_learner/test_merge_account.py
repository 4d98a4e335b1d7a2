from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trainer.llm_learner.edits import context_of, edit, text, two_groups
from trainer.llm_learner.grouping import groups_of
from trainer.llm_learner.merge_account import accounts_of
from trainer.llm_learner.merge_check import objections
from trainer.llm_learner.merge_form import MergeAnswer
from trainer.llm_learner.union import union_of

OLD = text("a", "One.", "Two.", "Three.")


def accounts(answer, *edits, **pages):
    """Return the accounts of an answer, and what is stray in it, for the groups of these edits."""
    context = context_of(*edits, **pages)
    unions = []
    for group in groups_of(context, 16):
        unions.append(union_of(group, context, 1 + sum(len(u.statements) for u in unions)))
    value = {"account": [], "wordings": [], "pages": [], **answer}
    found = accounts_of(MergeAnswer.model_validate(value), unions, context.names, "mark")
    return [account for account, _ in found], found[0][1]


def kept(*numbers, **more):
    return [{"number": n, "fate": "kept", **more} for n in numbers]


def added(*lessons):
    return [edit("a", OLD, OLD + f"- {lesson}\n") for lesson in lessons]


def test_a_wording_stands_where_the_first_of_its_sources_would():
    edits = [
        edit("a", OLD, text("a", "One.", "Same.", "Two.", "Three.")),
        edit("a", OLD, text("a", "One.", "Two.", "Three.", "Again the same.")),
    ]
    answer = {
        "account": [{"number": n, "fate": "merged", "into": 100} for n in (2, 5)],
        "wordings": [{"number": 100, "text": "Again the same.", "page": "a", "section": "Approach"}],
    }
    ((account,), strays) = accounts(answer, *edits, a=OLD)
    assert account.texts() == {"a": text("a", "One.", "Again the same.", "Two.", "Three.")}
    assert (strays, account.worded) == ([], {100: "- Again the same."})


def test_what_comes_from_another_page_stands_at_the_end_and_once():
    page_b = text("b", "Four.", "One.")
    new = edit("a", OLD, OLD + "- Four.\n")
    answer = {
        "account": [*kept(4), *kept(5, 6, page="a")],
        "pages": [{"page": "b", "change": "deleted"}],
    }
    joined = edit("b", page_b, None)
    context = context_of(new, joined, a=OLD, b=page_b).model_copy(
        update={"by_meaning": True, "near": {"a": ("b",)}}
    )
    (group,) = groups_of(context, 16)
    value = MergeAnswer.model_validate({"wordings": [], **answer})
    ((account, _),) = accounts_of(value, [union_of(group, context)], context.names, "mark")
    assert account.texts() == {"a": text("a", "One.", "Two.", "Three.", "Four.")}
    assert objections(account) == []


def test_a_page_that_is_split_off_a_draft_is_a_draft():
    draft = OLD.replace("status: production", "status: draft")
    edits = [edit("a", draft, draft + f"- {x}\n") for x in ("Bill one.", "Bill two.")]
    answer = {
        "account": kept(4, 5, page="bills"),
        "pages": [{"page": "bills", "change": "new", "description": "About bills."}],
    }
    ((account,), _) = accounts(answer, *edits, a=draft)
    assert account.texts()["bills"].startswith(
        "---\nname: bills\ndescription: About bills.\nstatus: draft\n---\n\n## Approach\n\n- Bill one.\n"
    )
    assert account.texts()["a"] == draft


def test_a_page_is_described_and_renamed_without_other_bytes_changing():
    page = OLD.replace("name: a\n", "name: a  # by Ann\n").replace("production", "'production'  # for now")
    edits = [edit("a", page, page + f"- {x}\n") for x in ("Four.", "Five.")]
    renamed = {"page": "a", "change": "renamed", "name": "z", "description": "When z."}
    ((account,), _) = accounts({"account": kept(4, 5), "pages": [renamed]}, *edits, a=page)
    made = account.texts()["z"]
    assert "'production'  # for now" in made
    assert "name: z  # by Ann\n" in made
    assert "description: When z.\n" in made
    assert made.endswith("- Three.\n- Four.\n- Five.\n")


def test_an_answer_is_divided_among_its_groups_and_strays_speak_against_all():
    edits, pages = two_groups()
    answer = {
        "account": [*kept(2, 3), *kept(5, 6, page="bills"), *kept(99)],
        "wordings": [{"number": 100, "text": "x", "page": "a", "section": "Approach"}],
        "pages": [
            {"page": "bills", "change": "new", "description": "About bills."},
            {"page": "nowhere", "change": "deleted"},
        ],
    }
    (one, two), strays = accounts(answer, *edits, **pages)
    assert [f.number for f in one.fates] == [2, 3]
    assert [f.number for f in two.fates] == [5, 6]
    assert (one.changes, [c.page for c in two.changes]) == ((), ["bills"])
    assert [stray.split(" ", 2)[:2] for stray in strays] == [
        ["there", "is"],
        ["no", "statement"],
        ["nothing", "stands"],
    ]


LESSONS = st.lists(
    st.sampled_from(["Ask for it.", "Look twice.", "Pack the box.", "Send it by night.", "Read the bill."]),
    min_size=1,
    max_size=5,
    unique=True,
)


@settings(max_examples=20, deadline=None)
@given(LESSONS, LESSONS, LESSONS)
def test_keeping_everything_keeps_every_statement_and_every_byte_of_the_page(old, first, second):
    page = text("a", *old).replace("- ", "-  ").replace("\n", "\r\n")
    edits = [edit("a", page, page + "".join(f"- {x}\r\n" for x in more)) for more in (first, second)]
    context = context_of(*edits, a=page)
    (group,) = groups_of(context, 16)
    union = union_of(group, context)
    answer = MergeAnswer.model_validate(
        {"account": kept(*(s.number for s in union.statements if s.is_open)), "wordings": [], "pages": []}
    )
    ((account, strays),) = accounts_of(answer, [union], context.names, "mark")
    (made,) = account.texts().values()
    assert not strays
    assert made.startswith(page)
    assert {f"- {x}" for x in (*first, *second)} <= set(made.split("\r\n"))
