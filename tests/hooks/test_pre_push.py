from __future__ import annotations

import pytest

from hooks import pre_push
from hooks.pre_push import Pushed
from tests.builders import git, make_store
from tests.hooking import write_page
from xpstore import evidence, gate_record
from xpstore.evaluation import experiences_at
from xpstore.gate_record import GateRecord
from xpstore.settings import GatePolicy


@pytest.fixture
def loc(tmp_path):
    return make_store(tmp_path / "store")


def commit_page(loc, name):
    old = loc.repo.resolve("HEAD")
    write_page(loc.repo.place, name)
    git(loc.repo.place, "commit", "-q", "-m", name)
    return old, loc.repo.resolve("HEAD")


def said(loc, *pushed, ungated="warn"):
    return [(r.text, r.blocks) for r in pre_push.check(loc.repo, list(pushed), ungated)]


def record(loc, old, new, **fields):
    values = {
        "candidate": new,
        "against": old,
        "experiences": experiences_at(loc, new),
        "baseline": experiences_at(loc, old),
        "policy": GatePolicy(),
        "decision": "accept",
        "reason": "no harm",
    }
    return GateRecord.model_validate(values | fields)


UNGATED = "no gate has accepted the experiences that the push brings to main"


def test_main_with_experiences_that_no_gate_has_accepted(loc):
    old, new = commit_page(loc, "a")
    push = Pushed("refs/heads/main", new, old)
    assert said(loc, push) == [(UNGATED, False)]
    assert said(loc, push, ungated="block") == [(UNGATED, True)]
    assert said(loc, push, ungated="pass") == []
    assert said(loc, Pushed("refs/heads/feature", new, old)) == []
    for fields in ({"decision": "reject"}, {"decided_by": "none"}, {"baseline": "0" * 40}):
        gate_record.write(loc, record(loc, old, new, **fields))
    assert said(loc, push) == [(UNGATED, False)]
    gate_record.write(loc, record(loc, old, new))
    assert said(loc, push) == []


def test_code_passes_and_what_is_not_here_cannot_be_compared(loc):
    old = loc.repo.resolve("HEAD")
    git(loc.repo.place, "commit", "-q", "--allow-empty", "-m", "Code")
    new = loc.repo.resolve("HEAD")
    assert said(loc, Pushed("refs/heads/main", new, old)) == []
    _, page = commit_page(loc, "a")
    assert said(loc, Pushed("refs/heads/main", page, "1" * 40)) == []
    assert said(loc, Pushed("refs/heads/main", page, None)) == []
    assert said(loc, Pushed("refs/heads/main", None, old)) == []


def test_evidence_is_not_rewritten(loc):
    ref = loc.evidence_ref
    evidence.write(loc, [evidence.json_file("x/a.json", {"a": 1})], "One")
    old = loc.repo.ref(ref)
    evidence.write(loc, [evidence.json_file("x/b.json", {"b": 1})], "Two")
    new = loc.repo.ref(ref)
    assert said(loc, Pushed(ref, new, old)) == []
    assert said(loc, Pushed(ref, old, new)) == [("xp/evidence would lose evidence that is over there", True)]
    assert said(loc, Pushed(ref, None, old)) == [
        ("xp/evidence is the evidence: the push would delete it", True)
    ]


def test_what_git_says_is_read_with_any_name_of_a_ref():
    a, none = "a" * 40, "0" * 40
    text = f"refs/heads/x {a} refs/heads/ü {none}\n(delete) {none} refs/heads/y {a}\n"
    assert pre_push.parse(text) == [Pushed("refs/heads/ü", a, None), Pushed("refs/heads/y", None, a)]
    assert pre_push.parse("") == []


def test_a_tag_of_anything_may_be_pushed(loc):
    blob = git(loc.repo.place, "hash-object", "-w", "xp.toml")
    assert said(loc, Pushed("refs/tags/file", blob, None)) == []
