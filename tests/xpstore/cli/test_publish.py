from __future__ import annotations

from tests.builders import git, make_plan, make_store, page, upsert
from xpstore.cli.main import run
from xpstore.commit import commit


def test_candidates_are_shared_too(tmp_path, capsys):
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "shared.git")
    loc = make_store(tmp_path / "s")
    git(loc.repo.place, "remote", "add", "origin", str(tmp_path / "shared.git"))
    for branch in ("train/x", "train/y"):
        commit(loc, [make_plan(loc, upsert("a", page("a", branch)), branch=branch)], branch)
    where = ["-C", str(loc.repo.place)]
    assert run([*where, "publish", "train/x"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Published main, xp/evidence, train/x (origin)",
        "Only local: train/y (xp publish shares it)",
    ]
    assert run([*where, "publish", "--remote", "origin"]) == 0
    assert capsys.readouterr().out.splitlines() == ["Published train/y (origin)"]
    assert run([*where, "publish"]) == 0
    assert capsys.readouterr().out.splitlines() == ["Everything up-to-date (origin)"]
    assert run([*where, "publish", "train/none"]) == 2
    assert "no candidate 'train/none'" in capsys.readouterr().err
