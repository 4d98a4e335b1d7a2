from __future__ import annotations

import re

import pytest

from hooks import main_rules
from hooks.trust import Trust
from tests.builders import git, page
from tests.gated import HARM, copied
from xpstore import gitcli


@pytest.fixture
def desk(inner_template, tmp_path):
    return copied(inner_template, tmp_path, "agents/desk")


@pytest.fixture
def plain(desk_template, tmp_path):
    return copied(desk_template, tmp_path)


def said(desk, old, new, **trusted):
    signers = desk.key.with_name("signers")
    signers.write_text(f"ci {desk.key.with_suffix('.pub').read_text()}")
    shelf = desk.loc.repo.ref(desk.loc.evidence_ref)
    (loc,) = main_rules.guarded(desk.loc.repo, "refs/heads/main", old)
    return [r.text for r in main_rules.check(loc, old, new, shelf, Trust(signers, **trusted))]


def commit(desk, path, text, message="Edit"):
    file = desk.root / desk.loc.in_tree(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    git(desk.root, "add", ".")
    git(desk.root, "commit", "-q", "-m", message)
    return desk.main


def test_code_passes_without_a_gate(desk):
    old = desk.main
    (desk.root / "code.py").write_text("1")
    git(desk.root, "add", ".")
    git(desk.root, "commit", "-q", "-m", "Code")
    assert said(desk, old, desk.main) == []


def test_what_a_gate_has_accepted_passes_and_nothing_else(desk):
    old, new = desk.main, desk.learn("refunds")
    (text,) = said(desk, old, new)
    assert text.startswith("the experiences of main stay: no gate has looked at exactly these (")
    desk.accepted(old, new)
    assert said(desk, old, new) == []
    (text,) = said(desk, old, desk.learn("returns"))  # by a person, on top of what was measured
    assert "no gate has looked at exactly these" in text


def test_the_same_experiences_pass_on_any_commit(plain):
    old = plain.main
    git(plain.root, "checkout", "-q", "-b", "train/run")
    plain.accepted(old, plain.learn("refunds"))
    git(plain.root, "checkout", "-q", "main")
    git(plain.root, "merge", "-q", "--squash", "train/run")
    git(plain.root, "commit", "-q", "-m", "Squashed")
    assert said(plain, old, plain.main) == []


def test_two_landings_may_be_pushed_at_once_if_each_was_measured(plain):
    old, one = plain.main, plain.learn("one")
    two = plain.learn("two")
    plain.accepted(one, two)
    (text,) = said(plain, old, two)
    assert "has compared these with" in text
    plain.accepted(old, one)
    assert said(plain, old, two) == []
    assert said(plain, old, commit(plain, "code.py", "1")) == []


def test_a_path_through_experiences_that_never_were_on_main_is_none(plain):
    old = plain.main
    git(plain.root, "checkout", "-q", "-b", "side")
    other = plain.learn("other")
    git(plain.root, "checkout", "-q", "main")
    new = plain.learn("new")
    plain.accepted(old, other)
    plain.accepted(other, new)
    (text,) = said(plain, old, new)
    assert "has compared these with" in text


def test_a_harmful_one_is_refused_with_what_the_gate_says(plain):
    old, new = plain.main, plain.learn("harm")
    record = plain.gate(old, new, HARM)
    plain.sign(record)
    (text,) = said(plain, old, new)
    assert text == f"the experiences of main stay: the gate says reject: {record.reason}"


def test_one_that_was_measured_against_an_older_main_is_refused(plain):
    first = plain.main
    git(plain.root, "checkout", "-q", "-b", "train/run")
    candidate = plain.learn("candidate")
    plain.accepted(first, candidate)
    git(plain.root, "checkout", "-q", "main")
    moved = plain.learn("meanwhile")
    git(plain.root, "checkout", "-q", "train/run")
    git(plain.root, "rebase", "-q", "main")
    (text,) = said(plain, moved, git(plain.root, "rev-parse", "HEAD"))
    assert "no gate has looked at exactly these" in text  # not even the tree is the one that was measured


def test_a_merge_that_makes_main_a_side_line_is_told(plain):
    git(plain.root, "checkout", "-q", "-b", "side")
    git(plain.root, "commit", "-q", "--allow-empty", "-m", "Side")
    git(plain.root, "checkout", "-q", "main")
    git(plain.root, "commit", "-q", "--allow-empty", "-m", "Main")
    old = plain.main
    git(plain.root, "checkout", "-q", "side")
    git(plain.root, "merge", "-q", "-m", "Merge", "main")
    new = git(plain.root, "rev-parse", "HEAD")
    assert said(plain, old, new) == ["main was merged into what is pushed: its history becomes a side line"]
    (loc,) = main_rules.guarded(plain.loc.repo, "refs/heads/main", old)
    assert [r.blocks for r in main_rules.check(loc, old, new, None, Trust())] == [False]


def test_main_only_moves_forward(plain):
    old, new = plain.main, plain.learn("new")
    plain.accepted(old, new)
    assert said(plain, new, old) == [f"main only moves forward: {old[:12]} does not contain {new[:12]}"]


def changed(desk, path, *parts):
    """Commit a file with parts of its text replaced, or what is new at its end."""
    text = (desk.root / path).read_text()
    for old, new in zip(parts[::2], parts[1::2], strict=True):
        text = re.sub(old, new, text) if old else text + new
    return commit(desk, path, text)


JUDGED = ", by which the next push would be judged"


@pytest.mark.parametrize(
    ("path", "parts", "wanted"),
    [
        ("xp.toml", ("margin = 0.1", "margin = 0.2"), "[gate] of xp.toml"),
        ("xp.toml", ("file_bytes = .*", "file_bytes = 99999999"), "[limits] of xp.toml"),
        ("xp.toml", ("", '\n[environment]\nname = "easy"\n'), "[environment] of xp.toml"),
        ("xp.toml", ("seed = 1", "seed = 7"), "[evaluation] of xp.toml"),
        ("xp.toml", ("", '\n[sign]\nformat = "ssh"\n'), "[sign] of xp.toml"),
        ("xp.toml", ("threshold = 0.8", "threshold = 0.9"), "[duplicates] of xp.toml"),
        ("cases/gate.jsonl", (".*\n\\Z", ""), "cases/gate.jsonl"),
    ],
)
def test_no_push_changes_the_rules_for_the_next_one_unless_the_owner_lets_it(plain, path, parts, wanted):
    old = plain.main
    new = changed(plain, path, *parts)
    assert said(plain, old, new) == [f"the push changes {wanted}{JUDGED}"]
    assert said(plain, old, new, frees_gate=True) == []


def test_cases_that_teach_or_are_only_reported_may_come_and_go(plain):
    old = plain.main
    commit(plain, "cases/train.jsonl", '{"name": "lesson", "input": {"task": "Ask twice."}}\n')
    assert said(plain, old, commit(plain, "xp.toml", f"# ours\n{(plain.root / 'xp.toml').read_text()}")) == []


def test_a_suite_does_not_stay_behind_when_its_store_moves(desk):
    old = desk.main
    for name in ("xp.toml", "experiences"):
        (desk.root / "elsewhere").mkdir(exist_ok=True)
        git(desk.root, "mv", desk.loc.in_tree(name), f"elsewhere/{name}")
    git(desk.root, "commit", "-q", "-m", "Move")
    assert said(desk, old, desk.main) == [f"the push changes cases/gate.jsonl{JUDGED}"]


def test_a_server_without_a_gate_still_checks_pages(plain):
    old, new = plain.main, plain.learn("refunds")
    assert said(plain, old, new, needs_gate=False) == []
    assert len(said(plain, old, plain.learn("b c"), needs_gate=False)) == 1


def test_where_nothing_can_be_measured_the_owner_is_told_what_to_do(plain):
    old, new = plain.main, plain.learn("refunds")
    (remark,) = main_rules.check(plain.loc, old, new, None, Trust())
    assert "xp.requireGate false" in remark.hint


def test_a_store_may_move_to_another_folder_with_its_experiences(desk):
    old = desk.main
    (desk.root / "elsewhere").mkdir()
    for name in ("xp.toml", "experiences", "cases"):
        git(desk.root, "mv", desk.loc.in_tree(name), f"elsewhere/{name}")
    git(desk.root, "commit", "-q", "-m", "Move")
    moved = desk.main
    assert said(desk, old, moved) == []
    desk = desk.at_prefix("elsewhere")
    new = desk.learn("refunds")
    assert len(said(desk, old, new)) == 1
    desk.accepted(old, new)
    assert said(desk, old, new) == []


def test_names_links_and_limits_hold_for_people_too(plain):
    old = plain.main
    (plain.root / "experiences" / "link.md").symlink_to("/etc/passwd")
    (plain.root / "experiences" / "BEGIN.md").write_text(page("BEGIN"))
    (plain.root / "experiences" / "long.md").write_text("x\n" * 1001)
    commit(plain, "experiences/.gitattributes", "* filter=evil\n")
    plain.accepted(old, plain.main)
    assert said(plain, old, plain.main) == [
        "experiences: experience 'BEGIN' would be the twin of 'begin'",
        "experiences/.gitattributes: .gitattributes would tell git what to do",
        "experiences/link.md: it is a symbolic link or a submodule, and neither is followed",
        "experiences/long.md: lines: 1001, the limit is 1000",
    ]


def test_the_limits_are_those_of_main_before_the_push(plain):
    old = plain.main
    (plain.root / "experiences" / "long.md").write_text("x\n" * 1001)
    text = (plain.root / "xp.toml").read_text().replace("file_lines = 1000", "file_lines = 9000")
    new = commit(plain, "xp.toml", text)
    plain.accepted(old, new)
    assert said(plain, old, new, frees_gate=True) == ["experiences/long.md: lines: 1001, the limit is 1000"]


def test_the_folder_stays_a_folder(plain):
    old = plain.main
    git(plain.root, "rm", "-q", "-r", "experiences")
    (plain.root / "experiences").symlink_to("/etc")
    git(plain.root, "add", ".")
    git(plain.root, "commit", "-q", "-m", "Link")
    assert said(plain, old, plain.main) == ["experiences is no folder"]


def with_entries(desk, above, *entries, without=""):
    """Commit entries of a tree, (mode, name, object), as no git writes them, in the folder `above`."""
    repo = desk.loc.repo
    there = repo.folder(repo.commit(desk.main).tree, above)
    lines = [(f"{e.mode:o}", e.name, e.id) for e in there if e.name != without] + list(entries)
    lines.sort(key=lambda line: line[1] + "/" * (line[0] == "40000"))
    data = b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(at) for mode, name, at in lines)
    options = ["-w", "-t", "tree", "--literally", "--stdin"]
    made = gitcli.run(repo.place, ["hash-object", *options], stdin=data).decode().strip()
    if above:
        parent, _, name = above.rpartition("/")
        return with_entries(desk, parent, ("40000", name, made), without=name)
    return git(desk.root, "commit-tree", "-p", desk.main, "-m", "Odd", made)


def test_a_submodule_with_the_id_of_the_folder_is_none(plain):
    old = plain.main
    entry = ("160000", "experiences", git(plain.root, "rev-parse", "main:experiences"))
    new = with_entries(plain, "", entry, without="experiences")
    assert said(plain, old, new) == ["experiences is no folder"]


@pytest.mark.parametrize(
    ("above", "name", "twin"),
    [
        ("agents/desk", "experiences/evil.md", "experiences"),
        ("agents", "desk/experiences/evil.md", "desk"),
        ("", "agents/desk/experiences/evil.md", "agents"),
        ("agents/desk", "Experiences", "experiences"),
        ("", "Agents", "agents"),
    ],
)
def test_nothing_beside_the_folder_is_checked_out_in_it(desk, above, name, twin):
    old, blob = desk.main, git(desk.root, "hash-object", "-w", desk.loc.in_tree("xp.toml"))
    new = with_entries(desk, above, ("100644", name, blob))
    under = f"{above}/" if above else ""
    wanted = f"{under}{name} would be checked out as {under}{twin}"
    assert said(desk, old, new) == [wanted]
    assert [r.text for r in main_rules.check_first(desk.loc, new)] == [wanted]
    git(desk.root, "update-ref", "refs/heads/main", new)
    later = git(desk.root, "commit-tree", "-p", new, "-m", "Code", f"{new}^{{tree}}")
    # a twin that was there is whoever's; a name that git itself forbids is never let through
    assert said(desk, new, later) == ([wanted] if "/" in name else [])


def test_only_the_branch_that_agents_read_is_guarded(plain):
    repo = plain.loc.repo
    assert [loc.config.id for loc in main_rules.guarded(repo, "refs/heads/main", plain.main)] == [
        plain.loc.config.id
    ]
    assert main_rules.guarded(repo, "refs/heads/feature", plain.main) == []


def test_a_branch_that_begins_with_a_store_has_good_pages(plain):
    assert main_rules.check_first(plain.loc, plain.main) == []
    new = commit(plain, "experiences/b c.md", "x")
    assert [r.text[:22] for r in main_rules.check_first(plain.loc, new)] == ["experiences/b c.md: in"]


def test_where_the_owner_wants_signatures_every_commit_on_the_way_needs_one(plain):
    git(plain.root, "config", "gpg.format", "ssh")
    git(plain.root, "config", "user.signingKey", str(plain.key))
    old, refunds = plain.main, plain.learn("refunds")
    plain.accepted(old, refunds)
    (remark,) = said(plain, old, refunds, wants_signed=True)
    assert remark == f"{refunds[:12]} changes experiences, and its signature is unsigned"
    git(plain.root, "commit", "-q", "--amend", "--no-edit", "-S")
    assert said(plain, old, plain.main, wants_signed=True) == []
    git(plain.root, "revert", "--no-edit", "HEAD")  # as it was before, and still two commits
    (remark,) = said(plain, old, plain.main, wants_signed=True)
    assert remark.startswith(plain.main[:12])
    assert said(plain, old, plain.main) == []
