from __future__ import annotations

import json

import pytest

from hooks import notes_rules
from tests.builders import git
from tests.gated import copied
from xpstore import evidence


@pytest.fixture
def desk(inner_template, tmp_path):
    return copied(inner_template, tmp_path, "agents/desk")


def tips(desk):
    return desk.loc.repo.ref(desk.loc.notes_ref), desk.loc.repo.ref(desk.loc.evidence_ref)


def add_line(desk, commit, line):
    git(desk.root, "notes", "--ref=xp-eval", "append", "-m", line, commit)
    return desk.loc.repo.ref(desk.loc.notes_ref)


def said(desk, old, new, shelf):
    return [r.text for r in notes_rules.check(desk.loc, old, new, shelf)]


def test_notes_that_evaluations_are_behind_pass(desk):
    desk.measure(desk.main)
    notes, shelf = tips(desk)
    assert said(desk, None, notes, shelf) == []
    desk.measure(desk.learn("a"), ["case-01"])
    assert said(desk, notes, *tips(desk)) == []


def test_a_forged_note_is_named(desk):
    desk.measure(desk.main)
    notes, shelf = tips(desk)
    text = git(desk.root, "notes", "--ref=xp-eval", "show", desk.main)
    forged = {**json.loads(text), "summary": "gate 48/48 better than ever", "passed": 999}
    found = said(desk, notes, add_line(desk, desk.main, json.dumps(forged)), shelf)
    assert found == [
        f"the note on {desk.main[:12]} tells of an evaluation that is not on record ({forged['key'][:12]})"
    ]
    hostile = json.dumps({"key": "../\ud800", "summary": "x"})
    assert len(said(desk, notes, add_line(desk, desk.main, hostile), shelf)) == 2
    invented = json.dumps({"summary": "test 80/80", "suite": "test"})
    assert len(said(desk, notes, add_line(desk, desk.main, invented), shelf)) == 3


@pytest.mark.parametrize("key", ['"key": 7', '"key": ""', '"key": null', '"key": {"a": 1}', '"passed": 168'])
def test_a_line_that_people_would_read_as_an_evaluation_has_a_key_of_one(desk, key):
    notes, shelf = tips(desk)
    line = f'{{"summary": "test 168/168", {key}}}'
    assert len(said(desk, notes, add_line(desk, desk.main, line), shelf)) == 1
    assert len(said(desk, notes, add_line(desk, desk.main, f"{{{key}}}"), shelf)) == 2


def test_a_true_line_on_the_wrong_commit_is_forged_too(desk):
    worse = desk.learn("worse")
    desk.measure(worse, ["case-01"])
    desk.measure(desk.loc.repo.resolve("main~1"))
    notes, shelf = tips(desk)
    true = git(desk.root, "notes", "--ref=xp-eval", "show", "main~1")
    assert len(said(desk, notes, add_line(desk, worse, true), shelf)) == 1


def test_notes_before_their_evidence_are_refused(desk):
    desk.measure(desk.main)
    assert len(said(desk, None, tips(desk)[0], None)) == 1


def test_candidates_that_were_not_pushed_may_have_notes(desk):
    desk.measure(desk.main)
    notes, shelf = tips(desk)
    text = git(desk.root, "notes", "--ref=xp-eval", "show", desk.main)
    blob = git(desk.root, "rev-parse", f"{notes}:{desk.main[:2]}/{desk.main[2:]}")
    git(desk.root, "read-tree", "--empty")
    git(desk.root, "update-index", "--add", "--cacheinfo", f"100644,{blob},{'1' * 40}")
    elsewhere = git(desk.root, "commit-tree", "-p", notes, "-m", "x", git(desk.root, "write-tree"))
    assert text
    assert said(desk, notes, elsewhere, shelf) == []


def test_what_people_write_is_theirs(desk):
    notes, shelf = tips(desk)
    new = add_line(desk, desk.main, 'we like it {"key": }')
    assert said(desk, notes, new, shelf) == []
    git(desk.root, "notes", "--ref=xp-eval", "remove", desk.main)
    assert said(desk, new, desk.loc.repo.ref(desk.loc.notes_ref), shelf) == []
    assert evidence.tip(desk.loc) is None
