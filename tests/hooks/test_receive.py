from __future__ import annotations

import pytest

from hooks import receive
from hooks.receive import Update
from hooks.trust import Trust
from tests.builders import git
from tests.gated import make_server, server_store
from xpstore.errors import UsageError

MAIN, EVIDENCE, NOTES = "refs/heads/main", "refs/heads/xp/evidence", "refs/notes/xp-eval"


def said(desk, *updates, place=None):
    repo = place or desk.loc.repo
    signers = desk.key.with_name("signers")
    signers.write_text(f"ci {desk.key.with_suffix('.pub').read_text()}")
    return [r.text for r in receive.check(repo, updates, Trust(signers))]


def test_main_may_come_together_with_the_evidence_for_it(desk, tmp_path):
    server = make_server(desk, tmp_path / "server.git")
    old, new = desk.main, desk.learn("refunds")
    desk.accepted(old, new)
    refs = [MAIN, EVIDENCE, NOTES]
    git(desk.root, "push", "-q", str(server), *(f"{ref}:refs/pushed/{n}" for n, ref in enumerate(refs)))
    loc = server_store(server)
    main, shelf, notes = (loc.repo.ref(f"refs/pushed/{n}") for n in range(3))
    both = [Update(MAIN, old, main), Update(EVIDENCE, None, shelf), Update(NOTES, None, notes)]
    assert said(desk, *both, place=loc.repo) == []
    assert said(desk, *reversed(both), place=loc.repo) == []
    # `update` sees one at a time: evidence counts once it is here
    (alone,) = said(desk, both[0], place=loc.repo)
    assert alone.startswith("main: the experiences of main stay: no gate has looked at exactly these")
    assert len(said(desk, both[2], place=loc.repo)) == 2
    git(server, "update-ref", EVIDENCE, shelf)
    assert said(desk, both[0], place=loc.repo) == said(desk, both[2], place=loc.repo) == []


def test_the_branches_of_a_store_are_not_deleted(desk):
    desk.measure(desk.main)
    shelf = desk.loc.repo.ref(EVIDENCE)
    assert said(desk, Update(MAIN, desk.main, None)) == ["main: agents read it, it cannot be deleted"]
    assert said(desk, Update(EVIDENCE, shelf, None)) == [
        "xp/evidence: evidence is for good, it cannot be deleted"
    ]
    assert said(desk, Update(NOTES, desk.loc.repo.ref(NOTES), None)) == []  # made again at any time


def test_branches_of_code_are_nobodys_business(desk):
    bad = git(desk.root, "commit-tree", "-m", "x", f"{desk.main}^{{tree}}")
    for old, new in ((desk.main, bad), (desk.main, None), (None, bad)):
        assert said(desk, Update("refs/heads/feature", old, new)) == []
        assert said(desk, Update("refs/tags/v1", old, new)) == []


def test_another_name_of_a_guarded_branch_is_guarded(desk):
    git(desk.root, "symbolic-ref", "refs/heads/master", MAIN)
    git(desk.root, "symbolic-ref", "refs/heads/shelf", EVIDENCE)
    old, new = desk.main, desk.learn("harm")
    desk.measure(old)
    shelf = desk.loc.repo.ref(EVIDENCE)
    pushed = [Update("refs/heads/master", old, new), Update("refs/heads/master", new, old)]
    pushed += [Update("refs/heads/master", old, None), Update("refs/heads/shelf", shelf, None)]
    found = [text.partition(" here): ") for text in said(desk, *pushed)]
    assert [start for start, _, _ in found] == ["master (another name of main"] * 3 + [
        "shelf (another name of xp/evidence"
    ]
    assert [text.partition(" stay")[0] for _, _, text in found] == [
        "the experiences of main",
        f"main only moves forward: {old[:12]} does not contain {new[:12]}",
        "agents read it, it cannot be deleted",
        "evidence is for good, it cannot be deleted",
    ]


def test_no_tag_takes_the_name_of_a_branch_that_is_read(desk):
    desk.measure(desk.main)
    bad = git(desk.root, "commit-tree", "-m", "x", f"{desk.main}^{{tree}}")
    names = ["refs/tags/main", "refs/main", "refs/heads/refs/heads/main", "refs/tags/xp/evidence"]
    found = said(desk, *(Update(name, None, bad) for name in names))
    assert [text.partition(": ")[2] for text in found] == [
        *["git would take it for the branch main, which xp reads"] * 3,
        "git would take it for the branch xp/evidence, which xp reads",
    ]
    git(desk.root, "branch", "feature")
    assert said(desk, Update("refs/tags/feature", None, bad), Update("refs/tags/main", bad, None)) == []


def test_no_ref_is_in_the_file_of_a_branch_that_is_read(desk):
    git(desk.root, "branch", "caf\u00e9")
    desk.measure(desk.main)
    bad = git(desk.root, "commit-tree", "-m", "x", f"{desk.main}^{{tree}}")
    pushed = [
        Update("refs/heads/MAIN", desk.main, bad),
        Update("refs/HEADS/main", None, bad),
        Update("refs/heads/Main", desk.main, None),
        Update("refs/heads/xp/Evidence", None, bad),
        Update("refs/heads/cafe\u0301", None, bad),
    ]
    git(desk.root, "config", "core.ignorecase", "false")
    assert said(desk, *pushed) == []
    for key in ("core.ignorecase", "core.precomposeunicode"):
        git(desk.root, "config", key, "true")
        assert [said(desk, each)[0].partition(": ")[2] for each in pushed[:4]] == [
            *["git would take it for the branch main, which xp reads"] * 3,
            "git would take it for the branch xp/evidence, which xp reads",
        ]
        assert said(desk, pushed[4]) == []  # a branch of code is whoever's
        git(desk.root, "config", "--unset", key)


def test_what_is_no_commit_is_refused_in_one_sentence(desk):
    blob = git(desk.root, "rev-parse", "main:xp.toml")
    for ref in (MAIN, "refs/heads/x", EVIDENCE, NOTES):
        (text,) = said(desk, Update(ref, None, blob))
        assert text == f"{ref.removeprefix('refs/heads/')}: {blob[:12]} is no commit"


def test_a_push_that_takes_the_place_of_a_store_is_refused_before_its_pages_are_looked_at(desk):
    old = desk.main
    config = desk.root / "xp.toml"
    config.write_text(config.read_text().replace(desk.loc.config.id, "deadbeefdeadbeefdead"))
    git(desk.root, "commit", "-q", "-a", "-m", "Code")
    pushed = Update(MAIN, old, desk.main)
    assert ["away" in text or "another one's" in text for text in said(desk, pushed)] == [True, True]


def test_the_first_push_begins_the_store(desk):
    assert said(desk, Update(MAIN, None, desk.main)) == []
    bad = desk.learn("b c")
    assert said(desk, Update(MAIN, None, bad))[0].startswith("main: experiences/b c.md: invalid")


def test_a_store_that_comes_into_a_repository_of_code_has_good_pages_too(desk):
    tree = git(desk.root, "rev-parse", "main^{tree}")
    code = git(desk.root, "commit-tree", "-m", "Code", git(desk.root, "mktree", "--missing"))
    begun = git(desk.root, "commit-tree", "-p", code, "-m", "Begin", tree)
    assert said(desk, Update(MAIN, code, begun)) == []
    desk.learn("b c")
    bad = git(desk.root, "commit-tree", "-p", code, "-m", "Begin", "main^{tree}")
    assert said(desk, Update(MAIN, code, bad))[0].startswith("main: experiences/b c.md: invalid")


def test_evidence_of_a_named_store_only_grows_too(desk):
    desk.measure(desk.main)
    first = desk.loc.repo.ref(EVIDENCE)
    desk.measure(desk.main, ["case-01"])
    second = desk.loc.repo.ref(EVIDENCE)
    ref = "refs/heads/xp/second/evidence"
    assert said(desk, Update(ref, first, second)) == []
    assert said(desk, Update(ref, second, first)) == [
        "xp/second/evidence: evidence was rewritten: the push does not continue the branch"
    ]


def test_all_that_is_wrong_is_said_at_once(desk):
    desk.measure(desk.main)
    found = said(desk, Update(MAIN, desk.main, None), Update(EVIDENCE, desk.loc.repo.ref(EVIDENCE), None))
    assert [text.partition(":")[0] for text in found] == ["main", "xp/evidence"]


def test_what_git_says_is_read_whatever_the_refs_are_called():
    a, b, none = "a" * 40, "b" * 40, "0" * 40
    text = f"{a} {b} refs/heads/with space\n{none} {b} refs/heads/ü\n{a} {none} {MAIN}\n"
    assert receive.parse(text) == [
        Update("refs/heads/with space", a, b),
        Update("refs/heads/ü", None, b),
        Update(MAIN, a, None),
    ]
    assert receive.parse("") == []
    with pytest.raises(UsageError):
        receive.parse("a b c\n")
