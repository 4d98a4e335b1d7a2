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


def test_without_a_remote_it_says_that_nothing_is_published(tmp_path, capsys):
    """Writes must not stay on one machine in silence."""
    loc = make_store(tmp_path / "s")
    commit(loc, [make_plan(loc, upsert("a", page("a")), branch="train/x")], "train/x")
    where = ["-C", str(loc.repo.place)]
    for verb in ("publish", "sync"):
        assert run([*where, verb]) == 1
        assert "nothing is published" in capsys.readouterr().err
    assert run([*where, "status"]) == 0
    assert "Only local: main, xp/evidence, train/x (there is no remote)" in capsys.readouterr().out


def test_a_branch_without_an_upstream_is_published_all_the_same(tmp_path, capsys):
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "shared.git")
    loc = make_store(tmp_path / "s")
    git(loc.repo.place, "remote", "add", "elsewhere", str(tmp_path / "shared.git"))
    assert run(["-C", str(loc.repo.place), "publish"]) == 0
    assert capsys.readouterr().out == "Published main (elsewhere)\n"
    assert git(tmp_path / "shared.git", "rev-parse", "main") == git(loc.repo.place, "rev-parse", "main")
