from __future__ import annotations

import pytest

from hooks import growth
from tests.builders import git, make_store
from tests.trainer.doubles import rollout
from xpstore import evidence, forget, gitcli, layout, publish, union, witness
from xpstore.evidence import EvidenceFile
from xpstore.git import Move


@pytest.fixture
def loc(tmp_path):
    return make_store(tmp_path / "store")


def add(loc, number):
    """Put a rollout on record; return its id and the tip."""
    made = rollout(f"case-{number}")
    file = evidence.rollout_file(made.id, made.model_dump(mode="json"))
    evidence.write(loc, [file], f"Rollout {number}")
    return made.id, tip(loc)


def tip(loc):
    return loc.repo.ref(loc.evidence_ref)


def commit(loc, parent, **files):
    """Commit files on top of an evidence commit, as nobody should; None deletes; return the commit."""
    root = loc.repo.place
    git(root, "read-tree", *([parent] if parent else ["--empty"]))
    for path, given in files.items():
        mode, data = given if isinstance(given, tuple) else ("100644", given)
        blob = gitcli.run(root, ["hash-object", "-w", "--stdin"], stdin=data or b"").decode().strip()
        add = ["--add", "--cacheinfo", f"{mode},{blob},{path}"]
        git(root, "update-index", *(["--force-remove", path] if given is None else add))
    parents = ["-p", parent] if parent else []
    return git(root, "commit-tree", "-m", "By hand", *parents, git(root, "write-tree"))


def said(loc, old, new):
    return [r.text for r in growth.check(loc, old, new)]


def test_more_evidence_passes(loc):
    _, first = add(loc, 1)
    _, second = add(loc, 2)
    assert said(loc, None, first) == said(loc, first, second) == said(loc, first, first) == []


def test_evidence_of_two_clones_passes(loc):
    _, base = add(loc, 1)
    _, ours = add(loc, 2)
    git(loc.repo.place, "update-ref", loc.evidence_ref, base)
    loc.repo.reopen()
    _, theirs = add(loc, 3)
    made = union.build(loc, ours, theirs)
    assert publish.publish(loc.repo, made.objects, [Move(loc.evidence_ref, theirs, made.tip, "union")])
    assert said(loc, ours, made.tip) == said(loc, theirs, made.tip) == []


def test_a_rewritten_branch_is_refused(loc):
    _, first = add(loc, 1)
    _, second = add(loc, 2)
    assert said(loc, second, first) == ["evidence was rewritten: the push does not continue the branch"]
    assert said(loc, second, commit(loc, None, **{layout.case_path("ab"): b"x"})) == [
        "evidence was rewritten: the push does not continue the branch"
    ]


@pytest.mark.parametrize(
    ("data", "verb"), [(None, "removes"), (b"{}", "changes"), (("120000", b"x"), "changes")]
)
def test_no_file_is_taken_away_or_changed(loc, data, verb):
    rollout_id, first = add(loc, 1)
    path = layout.rollout_path(rollout_id)
    new = commit(loc, first, **{path: data})
    assert said(loc, first, new)[0] == f"the push {verb} evidence: {path}"


def test_not_even_on_the_way(loc):
    rollout_id, first = add(loc, 1)
    path = layout.rollout_path(rollout_id)
    data = evidence.read(loc, path)
    back = commit(loc, commit(loc, first, **{path: None}), **{path: data})
    assert said(loc, first, back) == [f"a commit of the push changes or removes evidence: {path}"]


def test_what_was_forgotten_begins_the_branch_anew_and_passes(loc):
    rollout_id, _ = add(loc, 1)
    _, before = add(loc, 2)
    made = _forgotten(loc, rollout_id, before)
    assert witness.generation(loc, made) == 1
    assert said(loc, before, made) == []


def _forgotten(loc, rollout_id, before):
    """Return what `xp forget` makes of the branch, with the old objects still here to compare with."""
    copy = loc.repo.place.with_name("copy")
    git(loc.repo.place, "clone", "-q", "--no-local", str(loc.repo.place), str(copy))
    there = type(loc).find(copy)
    git(copy, "branch", "-q", "xp/evidence", before)
    forget.forget(there, rollout_id)
    git(loc.repo.place, "fetch", "-q", str(copy), f"+{loc.evidence_ref}:refs/test/forgotten")
    loc.repo.reopen()
    return git(loc.repo.place, "rev-parse", "refs/test/forgotten")


def test_a_clone_that_has_not_heard_of_it_cannot_bring_it_back(loc):
    rollout_id, before = add(loc, 1)
    anew = _forgotten(loc, rollout_id, before)
    assert said(loc, anew, before) == [
        "evidence of generation 0, here it is 1: it would bring back what was forgotten"
    ]
    path = layout.rollout_path(rollout_id)
    data = evidence.read(loc, path)
    assert said(loc, anew, commit(loc, anew, **{path: data})) == [
        f"{rollout_id} was forgotten, and {path} brings it back"
    ]


def test_a_new_generation_is_no_excuse_for_a_loss(loc):
    rollout_id, first = add(loc, 1)
    kept, both = add(loc, 2)
    tombstone = layout.tombstone_path(rollout_id)
    new = commit(loc, None, generation=b"1\n", **{tombstone: b""})
    assert said(loc, both, new) == [f"the push removes evidence: {layout.rollout_path(kept)}"]
    assert said(loc, first, new) == []


def files_of(loc, tip):
    return {path: loc.repo.blob(blob) for path, blob in loc.repo.files(loc.repo.commit(tip).tree)}


def test_a_case_goes_with_a_forgotten_rollout_that_alone_had_it(loc):
    made = [rollout("case-1"), rollout("case-1", 0.0), rollout("case-2")]
    case = made[0].case
    assert made[0].id != made[1].id
    file = evidence.case_file(case.id, case.model_dump(mode="json"))
    rollouts = [evidence.rollout_file(each.id, each.model_dump(mode="json")) for each in made]
    evidence.write(loc, [file, *rollouts], "Record")
    old = tip(loc)

    def anew(*gone):
        kept = {
            p: d for p, d in files_of(loc, old).items() if p not in {layout.rollout_path(i) for i in gone}
        }
        kept.pop(file.path)
        return commit(loc, None, generation=b"1\n", **kept, **{layout.tombstone_path(i): b"{}" for i in gone})

    removed = [f"the push removes evidence: {file.path}"]
    assert said(loc, old, anew()) == removed
    assert said(loc, old, anew(made[0].id)) == removed
    assert said(loc, old, anew(made[0].id, made[1].id)) == []


@pytest.mark.parametrize(
    "number", ["9" * 5000 + "\n", "1" + "0" * 18 + "\n", "-1\n", "x\n", "1.5\n", "0\n", "1"]
)
@pytest.mark.parametrize("goes_on", [True, False])
def test_a_generation_that_is_none_is_refused(loc, number, goes_on):
    _, first = add(loc, 1)
    new = commit(loc, first if goes_on else None, generation=number.encode())
    assert said(loc, None, new) == ["the file generation of the evidence holds no number of a generation"]
    assert len(said(loc, first, new)) == 1


def test_a_generation_goes_up_by_what_was_forgotten(loc):
    _, first = add(loc, 1)
    same = files_of(loc, first)
    new = commit(loc, None, generation=b"999999999\n", **same)
    assert said(loc, first, new) == [
        "evidence of generation 999999999, here it is 0: so often nothing was forgotten"
    ]
    assert said(loc, first, commit(loc, first, generation=b"1\n")) == [
        "evidence of generation 1 continues that of generation 0"
    ]
    gone = {layout.tombstone_path(number * 20): b"{}" for number in "ab"}
    assert said(loc, first, commit(loc, None, generation=b"3\n", **same, **gone)) == []


def test_no_history_that_comes_along_has_what_was_forgotten(loc):
    rollout_id, before = add(loc, 1)
    path = layout.rollout_path(rollout_id)
    anew = _forgotten(loc, rollout_id, before)
    place = loc.repo.place
    tree = git(place, "rev-parse", f"{anew}^{{tree}}")
    merged = git(place, "commit-tree", tree, "-p", anew, "-p", before, "-m", "Bring it back")
    assert said(loc, anew, merged)[0].startswith(
        f"commit {before[:12]} of the push is of generation 0, and not of 1: its history would bring back"
    )
    assert said(loc, None, merged) == said(loc, anew, merged)
    # with the number of the generation, too
    side = commit(loc, None, generation=b"1\n", **{path: evidence.read(loc, path)})
    merged = git(place, "commit-tree", tree, "-p", anew, "-p", side, "-m", "Bring it back")
    assert said(loc, anew, merged) == [f"a commit of the push changes or removes evidence: {path}"]


def test_evidence_is_files_that_are_what_they_are_called(loc):
    _, first = add(loc, 1)
    other = rollout("other")
    forged = commit(
        loc,
        first,
        **{
            layout.rollout_path("0" * 20): evidence.rollout_file(
                other.id, other.model_dump(mode="json")
            ).data,
            layout.rollout_path("1" * 20): ("120000", b"/etc/passwd"),
        },
    )
    found = said(loc, first, forged)
    assert found[0].startswith(
        f"{layout.rollout_path('0' * 20)} was altered: its content has the id {other.id}"
    )
    assert found[1] == f"evidence has {layout.rollout_path('1' * 20)}, which is no file"


def test_a_file_too_large_to_be_evidence_is_not_read(loc, monkeypatch):
    monkeypatch.setattr(growth, "MOST_BYTES", 10)
    path = layout.case_path("b" * 20)
    new = commit(loc, None, **{path: b"x" * 11})
    assert said(loc, None, new) == [f"evidence file {path} has more than 10 bytes"]


@pytest.mark.parametrize(
    "path",
    [
        *("gates/" + "a/" * 20 + "x", "gates/\udcff.json", "gates/aa/poison.json", "gates/aa/bb.json"),
        *("gates/aa/aab.sig", "gates/README.md", "gates/aa/aab.json.sig"),
    ],
)
def test_names_that_readers_stumble_over_are_refused(loc, path):
    found = said(loc, None, commit(loc, None, **{path: b"{}"}))
    assert [text[:35] for text in found] == ["no file of the evidence is called g"]


def test_a_long_list_is_cut(loc):
    new = commit(loc, None, **{layout.case_path(f"00{n}"): b"no json" for n in range(9)})
    found = said(loc, None, new)
    assert (len(found), found[-1]) == (6, "and 4 more of the kind")


def test_of_two_first_tries_a_new_beginning_keeps_the_one_that_is_here(loc):
    path = f"{evidence.FIRST_WINS}ab/abc/x.json"
    evidence.write(loc, [EvidenceFile(path, b"{}\n")], "First")
    theirs = tip(loc)
    ours = commit(loc, None, generation=b"1\n", **{path: b'{"a":1}\n'})
    assert said(loc, theirs, ours) == [f"the push changes evidence: {path}"]
    made = union.build(loc, ours, theirs)
    move = Move("refs/heads/result", None, made.tip, "union")
    assert publish.publish(loc.repo, made.objects, [move])
    assert said(loc, theirs, made.tip) == []
    assert files_of(loc, made.tip) == {path: b"{}\n", witness.GENERATION: b"2\n"}


@pytest.mark.parametrize("path", ["README", "notes/a.txt", "x.json", "rollouts/ab/cdef.json", "tombstones/x"])
def test_what_no_xp_writes_is_no_evidence(loc, path):
    assert said(loc, None, commit(loc, None, **{path: b"{}"})) == [
        f"no file of the evidence is called {path}"
    ]


def test_a_signature_is_named_by_its_content(loc):
    path = f"gates/ab/ab12.{'0' * 20}.sig"
    assert said(loc, None, commit(loc, None, **{path: b"forged"}))[0].startswith(f"{path} was altered")
