"""The corpora of right and wrong decisions, put as answers about two edits of one page."""

from __future__ import annotations

import sys
from collections import Counter

import pytest

from tests.resolutions import WRONG, Decision, halves, right, wrong
from tests.trainer.llm_learner.edits import context_of, edit
from trainer.llm_learner.grouping import groups_of
from trainer.llm_learner.merge_account import Account, accounts_of
from trainer.llm_learner.merge_check import objections
from trainer.llm_learner.merge_form import MergeAnswer
from trainer.llm_learner.union import union_of

NAME = "page"
FIRST_WORDING = 2_000


def account_of(made: Decision) -> tuple[Account, list[str]]:
    """Return the account of a model that wants this decision of what two edits changed."""
    conflict = made.conflict
    edits = [edit(NAME, conflict.base, text) for text in (conflict.ours, conflict.theirs)]
    context = context_of(*edits, **{NAME: conflict.base})
    (group,) = groups_of(context, 16)
    union = union_of(group, context)
    (hunk,) = conflict.hunks
    numbers = {s.text: s.number for s in union.statements if s.is_open}
    numbers |= {s.text: s.number for s in union.statements if s.text not in numbers}
    wordings = [
        {"number": FIRST_WORDING + n, "text": text, "page": NAME, "section": hunk.section}
        for n, text in enumerate(dict.fromkeys(t for t in made.texts if t not in numbers))
    ]
    numbers |= {str(w["text"]): int(str(w["number"])) for w in wordings}
    by_number = {claim.number: claim for claim in made.account}
    claims = {s.text: by_number.get(s.number) for s in hunk.statements}
    account = []
    for said in union.statements:
        claim = claims.get(said.text)
        if said.is_open and claim is not None:
            into = numbers.get(claim.into, 1_999) if claim.into else 0
            account.append({"number": said.number, "fate": claim.fate, "into": into, "reason": claim.reason})
    answer = MergeAnswer.model_validate({"account": account, "wordings": wordings, "pages": []})
    ((found, strays),) = accounts_of(answer, [union], context.names, "mark")
    return found, strays


def is_stopped(made: Decision) -> bool:
    """Whether the wrong page does not come about: the answer is refused, or makes another page."""
    account, strays = account_of(made)
    return bool([*strays, *objections(account)]) or account.texts()[NAME] != made.result


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.stress), 40])
def test_right_answers_are_accepted_and_wrong_pages_do_not_come_about(capsys, every):
    stopped: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    accepted: list[bool] = []
    for half in halves():
        for page in half[::every]:
            for made in right(page):
                account, strays = account_of(made)
                accepted.append(not [*strays, *objections(account)])
            for kind in WRONG:
                for made in wrong(kind, page):
                    if made.text:  # an answer has no words for the file around the statements
                        continue
                    tried[kind] += 1
                    stopped[kind] += is_stopped(made)
    rates = ", ".join(f"{kind}: {stopped[kind]}/{tried[kind]}" for kind in tried)
    with capsys.disabled():
        sys.stdout.write(f"\nwrong pages stopped: {rates}; right accepted: {sum(accepted)}/{len(accepted)}\n")
    assert all(stopped[kind] >= 0.95 * tried[kind] for kind in tried)
    assert sum(accepted) >= 0.97 * len(accepted)
