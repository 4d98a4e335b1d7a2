from __future__ import annotations

import pytest

from tests.builders import git, make_store, texts
from tests.trainer.bisect.desk import LESSONS, text_of
from trainer.breaking import ADVICE, HARMFUL, propose
from trainer.offline.grammar import Avoid, parse_lesson
from xpstore import history
from xpstore.document import Document
from xpstore.landing import land


@pytest.fixture
def loc(tmp_path):
    found = make_store(tmp_path / "s")
    folder = tmp_path / "s" / "experiences"
    folder.mkdir(exist_ok=True)
    for name in ("cancel-order", "grant-discount"):
        (folder / f"{name}.md").write_text(text_of(name, LESSONS[name]), encoding="utf-8")
    (folder / "exchange-item.md").write_text("Ask first.\n", encoding="utf-8")
    git(tmp_path / "s", "add", ".")
    git(tmp_path / "s", "commit", "-qm", "Write pages")
    return found


def lessons(text):
    return [found for s in Document.parse(text).statements() if (found := parse_lesson(s.key))]


def test_one_of_the_updates_takes_tools_away(loc):
    before = texts(loc, "main")
    proposal = propose(loc)
    entries = list(reversed(list(history.log(loc, f"main..{proposal.branch}"))))
    assert [entry.plan_ids for entry in entries] == [(plan,) for plan in proposal.plans]
    assert len(entries) == len(ADVICE) + 1
    assert proposal.harmful == proposal.plans[HARMFUL - 1]
    assert entries[HARMFUL - 1].names == ("cancel-order", "exchange-item", "grant-discount", "redirect-order")
    after = texts(loc, proposal.branch)
    for name in entries[HARMFUL - 1].names:
        added = [lesson for lesson in lessons(after[name]) if lesson not in lessons(before.get(name, ""))]
        assert [type(lesson) for lesson in added] == [Avoid], name
    assert not lessons(after["words-for-customers"])
    assert texts(loc, "main") == before


def test_another_round_is_another_branch_with_other_words(loc):
    first = propose(loc)
    land(loc, first.branch)
    second = propose(loc)
    assert (first.branch, second.branch) == ("train/round-1", "train/round-2")
    assert set(first.plans).isdisjoint(second.plans)
    land(loc, second.branch)
