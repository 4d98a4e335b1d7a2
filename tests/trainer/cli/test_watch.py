from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.builders import git
from tests.trainer.doubles import CaseEditor, rollout
from trainer.drop_folder import DropFolder
from xpstore.cli.main import run
from xpstore.init import init

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that recordings are put into, beside a store."""
    monkeypatch.setattr("trainer.assembly.OfflineEditor", CaseEditor)
    monkeypatch.setattr("trainer.drop_folder.DropFolder", partial(DropFolder, settle=0))
    monkeypatch.chdir(tmp_path)
    init(tmp_path / "s")
    (tmp_path / "s" / "in").mkdir()
    return tmp_path / "s" / "in"


def write(path, *rollouts):
    path.write_text("".join(json.dumps(r.model_dump(mode="json")) + "\n" for r in rollouts))


def xp(*args):
    return run(["-C", "s", "watch", *args])


def test_what_is_put_into_a_directory_is_learned_from(folder, capsys):
    write(folder / "a.jsonl", rollout("a"), rollout("silent"))
    assert xp("in", "--once", "--json") == 0
    (row,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert row["file"].endswith("in/a.jsonl")
    assert (row["rollouts"], row["already"], row["problems"], row["failures"]) == (2, 0, [], {})
    assert row["nothing"] == {rollout("silent").id: "said nothing"}
    (commit,) = row["plans"].values()
    assert git(folder.parent, "rev-parse", "train/live") == commit


def test_people_read_a_line_per_file_and_what_was_wrong(folder, capsys):
    write(folder / "a.jsonl", rollout("a"))
    assert xp("in", "--once", "--branch", "main") == 0
    assert capsys.readouterr().out.endswith("in/a.jsonl: 1 rollout, 1 commit\n")
    write(folder / "b.jsonl", rollout("bad"), rollout("silent"))
    (folder / "c.jsonl").write_text("no\n" * 3)
    write(folder / "d.jsonl", rollout("a"))
    assert xp("in", "--once", "--branch", "main") == 1
    out, err = capsys.readouterr()
    assert "in/d.jsonl: 1 rollout, 1 already learned\n" in out
    assert "in/c.jsonl: 0 rollouts\n" in out
    assert f"error: {rollout('bad').id[:9]}: RuntimeError: cannot learn from this group" in err
    assert "in/c.jsonl: this is not JSON" in err


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["in", "--since", "main"], "--since works without DIR only"),
        (["in", "--exec", "true"], "--exec works without DIR only"),
        (["nowhere"], "there is no directory"),
        (["--learner", "llm", "--model", "m"], "--learner works with DIR only"),
        (["--record", "x"], "--record needs a learner with a model"),
    ],
)
def test_options_that_do_not_go_together(folder, capsys, args, why):
    assert folder.is_dir()
    assert xp(*args) == 2
    assert why in capsys.readouterr().err
