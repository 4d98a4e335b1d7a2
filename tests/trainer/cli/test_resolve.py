from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_plan, make_store, page, upsert
from tests.lessons import teach
from tests.llm_answers_merge import resolve
from tests.llm_server import Fault
from xpstore import kept
from xpstore.applying import apply
from xpstore.cli.main import run
from xpstore.commit import commit
from xpstore.errors import ConflictError
from xpstore.verify import verify

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location

BRANCH = "train/x"


@pytest.fixture
def loc(tmp_path) -> Location:
    """A store whose main and candidate learned opposite things from the same page."""
    found = make_store(tmp_path / "s")
    commit(found, [make_plan(found, upsert("a", page("a", "Be short.")))], "main")
    first = page("a", "Be short.")
    made = {
        branch: make_plan(found, upsert("a", page("a", "Be short.", *lessons), before=first), branch=branch)
        for branch, lessons in {"main": ["Always ask."], BRANCH: ["Never ask.", "Say why."]}.items()
    }
    for branch in (BRANCH, "main"):
        commit(found, [made[branch]], branch)
    return found


def text(loc: Location) -> str:
    return git(loc.repo.place, "show", "main:experiences/a.md")


def xp(loc: Location, *args: str) -> int:
    return run(["-C", str(loc.repo.place), *args])


def test_landing_without_a_decision_moves_nothing_and_says_how_to_go_on(loc, capsys):
    """A program must be told what is in conflict, and how it goes on."""
    old = git(loc.repo.place, "rev-parse", "main")
    assert xp(loc, "land", BRANCH, "--no-input", "--json") == 1
    captured = capsys.readouterr()
    answer = json.loads(captured.out or captured.err)
    assert answer["conflicts"] == ["a"]
    assert f"xp resolve {BRANCH}" in answer["hint"]
    assert git(loc.repo.place, "rev-parse", "main") == old


@pytest.mark.parametrize(
    ("side", "kept", "gone"), [("ours", "Always", "Never"), ("theirs", "Never", "Always")]
)
def test_one_side_is_taken_where_they_exclude_each_other(loc, capsys, side, kept, gone):
    assert xp(loc, "resolve", BRANCH, "--take", side, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["state"], answer["merged"]) == ("landed", ["a"])
    assert answer["decided"] == [{"page": "a", "dropped": [f"- {gone} ask."]}]
    assert f"- {kept} ask." in text(loc)
    assert "- Say why." in text(loc)
    assert gone not in text(loc)


def test_words_that_were_left_out_are_kept_and_found(loc, capsys):
    """A line that lost a decision must not be gone without a trace."""
    assert xp(loc, "resolve", BRANCH, "--take", "ours") == 0
    said = capsys.readouterr().out
    assert "left out: - Never ask." in said
    assert "is kept as refs/xpstore/left-out/" in said
    git(loc.repo.place, "branch", "-qD", BRANCH)
    git(loc.repo.place, "reflog", "expire", "--all", "--expire=now")
    git(loc.repo.place, "gc", "-q", "--prune=now")
    for options in ([], ["--experience", "a"]):
        assert xp(loc, "log", "-S", "Never ask.", "--json", *options) == 0
        (found,) = json.loads(capsys.readouterr().out)["commits"]
        assert "Never ask." in git(loc.repo.place, "show", found["commit"])
    assert xp(loc, "log", "-S", "Never ask.", "--experience", "b", "--oneline") == 0
    assert capsys.readouterr().out == ""
    assert xp(loc, "log", "-S", "") == 2


def test_what_nobody_decided_against_is_not_kept(loc, capsys):
    assert xp(loc, "resolve", BRANCH, "--take", "ours", "--dry-run", "--json") == 0
    assert json.loads(capsys.readouterr().out)["kept"] == ""
    assert loc.repo.refs("refs/xpstore/") == {}


def test_a_dry_run_decides_and_moves_nothing(loc, capsys):
    before = text(loc)
    assert xp(loc, "resolve", BRANCH, "--take", "theirs", "-n") == 0
    assert "left out: - Always ask." in capsys.readouterr().out
    assert text(loc) == before


def test_no_input_opens_no_editor(loc, capsys, monkeypatch):
    monkeypatch.setenv("EDITOR", "false")
    assert xp(loc, "resolve", BRANCH, "--no-input") == 1
    assert "exclude each other" in capsys.readouterr().err
    monkeypatch.setenv("VISUAL", "vim -f")
    assert xp(loc, "resolve", BRANCH, "--json") == 1, "there is no terminal"
    captured = capsys.readouterr()
    choices = [f"xp resolve {BRANCH} --take {side}" for side in ("ours", "theirs")]
    assert json.loads(captured.out or captured.err)["next"] == choices


@pytest.mark.parametrize(
    ("editor", "why"),
    [
        ("touch", "markers are left in it"),
        ("true", "nothing was saved"),
        ("rm", "nothing was saved"),
        ("python3 -c \"import sys; open(sys.argv[1], 'wb').write(bytes([255]))\"", "nothing was saved"),
    ],
)
def test_what_is_left_undecided_is_said_with_the_choices(loc, capsys, monkeypatch, editor, why):
    monkeypatch.setenv("VISUAL", editor)
    assert xp(loc, "resolve", BRANCH) == 1
    said = capsys.readouterr().err
    assert f"a is not decided: {why}" in said
    assert f"`xp resolve {BRANCH} --take ours` or `xp resolve {BRANCH} --take theirs`" in said


def test_a_person_edits(loc, tmp_path: Path, capsys, monkeypatch):
    script = tmp_path / "edit.py"
    script.write_text(
        "import pathlib, re, sys\n"
        "file = pathlib.Path(sys.argv[1])\n"
        "text = re.sub('(?s)<<<<<<<.*>>>>>>> theirs', '- Ask when in doubt.', file.read_text())\n"
        "file.write_text(text)\n"
    )
    monkeypatch.setenv("VISUAL", f"{sys.executable} {script}")
    assert xp(loc, "resolve", BRANCH) == 0
    assert "decided: a" in capsys.readouterr().out
    assert "- Ask when in doubt." in text(loc)


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_landed_decisions_verify(tmp_path, side):
    found = make_store(tmp_path / "s")
    teach(found, "a", None, ("Be short.",))
    git(found.repo.place, "branch", BRANCH)
    teach(found, "a", ("Be short.",), ("Be short.", "Never ask.", "Say why."), branch=BRANCH)
    teach(found, "a", ("Be short.",), ("Be short.", "Always ask."))
    assert xp(found, "resolve", BRANCH, "--take", side) == 0
    assert {finding.state for finding in verify(found, "main")} <= {"intact", "carried"}


def test_what_was_decided_against_waits_no_longer_and_its_words_are_found(tmp_path, capsys):
    loc = make_store(tmp_path / "s")
    first = page("a", "Be short.")
    commit(loc, [make_plan(loc, upsert("a", first))], "main")
    made = [
        make_plan(loc, upsert("a", page("a", "Be short.", x), first)) for x in ("Always ask.", "Never ask.")
    ]
    commit(loc, [made[0]], "main")
    with pytest.raises(ConflictError) as caught:
        apply(loc, [made[1]], "main")
    (branch,) = caught.value.kept
    main = git(loc.repo.place, "rev-parse", "main")
    assert xp(loc, "resolve", branch, "--take", "ours", "--dry-run") == 0
    assert kept.waiting(loc) == (branch,)
    capsys.readouterr()
    assert xp(loc, "resolve", branch, "--take", "ours") == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        f"Nothing of {branch} is left to land on main",
        "decided: a",
        "  left out: - Never ask.",
    ]
    assert git(loc.repo.place, "rev-parse", "main") == main
    assert kept.waiting(loc) == ()
    assert xp(loc, "log", "-S", "Never ask.", "--json") == 0
    assert json.loads(capsys.readouterr().out)["commits"]


@pytest.mark.parametrize("verb", ["resolve", "land"])
def test_a_model_decides_and_that_is_on_record(loc, llm_server, monkeypatch, capsys, verb):
    monkeypatch.setenv("OPENAI_BASE_URL", llm_server.url)
    llm_server.on("resolve", resolve)
    assert xp(loc, verb, BRANCH, "--resolver", "llm", "--model", "small", "--json") == 0
    (merge,) = json.loads(capsys.readouterr().out)["merges"]
    assert (merge["name"], merge["verdict"], merge["resolved_by"]) == ("a", "VERIFIED", "llm/1+small")
    assert "Say why." in text(loc)
    odd = {problem for f in verify(loc, "main") for problem in f.problems}
    assert all(problem.startswith("rollouts/") for problem in odd)  # the fixture has no recordings
    assert llm_server.counts["resolve"] == 1


@pytest.mark.parametrize("verb", ["resolve", "land"])
def test_what_a_model_does_not_decide_stays_undecided(loc, llm_server, monkeypatch, capsys, verb):
    monkeypatch.setenv("OPENAI_BASE_URL", llm_server.url)
    llm_server.on("resolve", Fault("refusal"))
    old = git(loc.repo.place, "rev-parse", "main")
    assert xp(loc, verb, BRANCH, "--resolver", "llm", "--model", "small", "--json") == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["conflicts"] == ["a"]
    assert answer["hint"]
    assert git(loc.repo.place, "rev-parse", "main") == old
