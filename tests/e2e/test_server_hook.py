"""Plain git pushes to a bare repository with the hook that `xp hooks install --server` puts there."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.builders import git, make_plan, page, upsert
from tests.gated import HARM, Desk, make_desk, make_key, make_server, server_store
from tests.hooking import attempt
from tests.trainer.case_store import install_scripted
from tests.trainer.gate_store import make_gate_store
from xpstore import history
from xpstore.cli.main import run
from xpstore.commit import commit
from xpstore.location import Location

MAIN, EVIDENCE, NOTES = "main", "xp/evidence", "refs/notes/xp-eval"


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A clone of a server, each in its folder; the server has main, and the hook."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    made = make_desk(tmp_path)
    server = make_server(made, tmp_path / "server.git")
    assert run(["-C", str(server), "hooks", "install", "--server"]) == 0
    return made


def push(desk, *refs):
    code, said = attempt(desk.root, "push", "origin", *refs)
    lines = [line.removeprefix("remote: ").rstrip() for line in said.splitlines() if "remote: " in line]
    return code, lines


def there(desk, ref="main"):
    return git(desk.root, "ls-remote", "origin", f"refs/heads/{ref}").partition("\t")[0]


def test_a_good_candidate_lands_with_its_evidence_in_one_push_and_is_known_after_a_squash(desk):
    old, new = desk.main, desk.learn("refunds", "Ask for the receipt.")
    code, said = push(desk, MAIN)
    assert code == 1
    assert said[0].startswith(
        "error: main: the experiences of main stay: no gate has looked at exactly these"
    )
    assert said[1].startswith("hint: xp.toml names no [environment] to measure in")
    assert there(desk) == old
    desk.accepted(old, new)
    assert push(desk, "--atomic", MAIN, EVIDENCE, NOTES) == (0, [])
    assert there(desk) == new
    # the site's squash button leaves another commit, and of the message its title
    plan = make_plan(desk.loc, upsert("returns", page("returns", "Wait for the parcel.")))
    (landed,) = commit(desk.loc, [plan], "train/run")
    desk.accepted(new, landed.commit)
    git(desk.root, "merge", "-q", "--squash", "train/run")
    git(desk.root, "commit", "-q", "-m", "Teach returns (#7)")
    assert push(desk, MAIN, EVIDENCE) == (0, [])
    assert there(desk) == desk.main
    assert plan.plan_id in history.reachable_plan_ids(server_store(_server(desk)), ["main"])
    git(_server(desk), "fsck", "--strict")


def _server(desk):
    return Path(git(desk.root, "remote", "get-url", "origin"))


def test_what_is_harmful_or_measured_on_something_else_or_forged_is_refused(desk):
    old = desk.main
    harmful = desk.learn("harm", "Refund whoever shouts.")
    record = desk.gate(old, harmful, HARM, decision="accept")  # somebody has bent the decision,
    desk.sign(record)  # and the machine that measures has signed it
    git(desk.root, "branch", "-q", "harmful")
    code, said = push(desk, f"harmful:{MAIN}", EVIDENCE)
    assert code == 1
    assert said[0].startswith(
        "error: main: the experiences of main stay: decided again, the gate says reject: it is"
    )
    assert "worse: case-00 4/4 to 0/4" in said[0]
    git(desk.root, "reset", "-q", "--hard", old)
    other = desk.learn("other")
    desk.accepted(other, desk.learn("more"))
    code, said = push(desk, MAIN, EVIDENCE)
    assert (code, "the gate has compared these with" in said[0]) == (1, True)
    git(desk.root, "reset", "-q", "--hard", old)
    desk.gate(old, desk.learn("unsigned"))
    code, said = push(desk, MAIN, EVIDENCE)
    assert code == 1
    assert said[0] == "error: main: the experiences of main stay: nobody has signed the gate's record"
    note = json.dumps({"summary": "gate 48/48 100.0 %", "key": "0" * 20, "passed": 48})
    git(desk.root, "notes", "--ref=xp-eval", "append", "-m", note, old)
    code, said = push(desk, NOTES, EVIDENCE)
    assert code == 1
    assert "tells of an evaluation that is not on record" in said[0]
    assert (there(desk), there(desk, EVIDENCE)) == (old, "")  # all of a push, or nothing


def test_main_and_evidence_are_not_rewritten_and_code_is_nobodys_business(desk):
    old = desk.main
    (desk.root / "code.py").write_text("1")
    git(desk.root, "add", "code.py")
    git(desk.root, "commit", "-q", "-m", "Code")
    desk.measure(desk.main)
    assert push(desk, MAIN, EVIDENCE, "main:refs/heads/feature") == (0, [])
    assert push(desk, "--force", f"{old}:refs/heads/{MAIN}")[1] == [
        f"error: main: main only moves forward: {old[:12]} does not contain {desk.main[:12]}",
        "hint: git pull --rebase, or xp sync; git revert undoes what is on main",
    ]
    code, said = push(desk, f":{MAIN}", f":{EVIDENCE}")
    assert code == 1
    assert sorted(line for line in said if line.startswith("error")) == [
        "error: main: agents read it, it cannot be deleted",
        "error: xp/evidence: evidence is for good, it cannot be deleted",
    ]
    assert push(desk, "--force", f"{old}:refs/heads/feature") == (0, [])
    assert there(desk) == desk.main


def test_without_xp_the_server_takes_nothing(desk, monkeypatch):
    server = _server(desk)
    hook = server / "hooks" / "pre-receive"
    hook.write_text(hook.read_text().replace(sys.prefix, "/gone"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    desk.learn("a")
    code, said = push(desk, MAIN)
    assert (code, said) == (1, ["error: xp is not on PATH of this server: pre-receive takes nothing"])


def test_the_objects_of_a_push_are_read_before_they_are_the_repositorys_and_do_not_stay(desk):
    for number in range(130):  # more objects than git unpacks: they come as a pack
        (desk.root / f"{number}.txt").write_text(str(number))
    git(desk.root, "add", ".")
    desk.learn("much")
    before = git(_server(desk), "count-objects", "-v")
    code, said = push(desk, MAIN)
    assert (code, "no gate has looked" in said[0]) == (1, True)
    assert git(_server(desk), "count-objects", "-v") == before


def test_what_was_landed_with_a_gate_goes_through_and_what_was_landed_without_one_does_not(
    tmp_path, monkeypatch, capsys
):
    """The whole way, with the commands that people use: xp land measures and signs, xp sync pushes."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    monkeypatch.syspath_prepend(str(install_scripted(tmp_path / "site")))
    root = make_gate_store(tmp_path / "s")
    desk = Desk(Location.find(root), make_key(tmp_path))
    server = make_server(desk, tmp_path / "server.git")
    for where, *words in ((server, "hooks", "install", "--server"), (root, "sync", "origin")):
        assert run(["-C", str(where), *words]) == 0
    git(root, "config", "user.signingKey", str(desk.key))
    git(root, "config", "xp.signGates", "true")
    assert run(["-C", str(root), "land", "train/better"]) == 0
    assert run(["-C", str(root), "sync", "origin"]) == 0
    assert there(desk) == desk.main
    landed = desk.main
    assert run(["-C", str(root), "land", "train/worse", "--no-gate"]) == 0
    capsys.readouterr()
    assert run(["-C", str(root), "sync", "origin"]) == 1
    assert "main: the experiences of main stay: it was landed without a gate" in capsys.readouterr().err
    assert there(desk) == landed
