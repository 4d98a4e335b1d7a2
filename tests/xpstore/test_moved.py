from __future__ import annotations

from tests.builders import git, make_plan, make_store, page, upsert
from xpstore.commit import commit
from xpstore.moved import moved


def test_pages_that_have_another_name_now(tmp_path):
    loc = make_store(tmp_path / "repo", name="")
    lines = [f"Line {n} says something." for n in range(6)]
    commit(loc, [make_plan(loc, upsert("a", page("a", *lines)), upsert("b", page("b", "Else.")))], "main")
    base = git(loc.repo.place, "rev-parse", "main")
    git(loc.repo.place, "mv", "experiences/a.md", "experiences/\u540d.md")
    (loc.repo.place / "experiences" / "c.md").write_text(page("c", "Completely different, all of it."))
    git(loc.repo.place, "rm", "-q", "experiences/b.md")
    git(loc.repo.place, "mv", "xp.toml", "notes.toml")
    git(loc.repo.place, "mv", "notes.toml", "xp.toml")
    git(loc.repo.place, "add", "-A")
    git(loc.repo.place, "commit", "-qm", "Move")
    tip = git(loc.repo.place, "rev-parse", "main")
    assert moved(loc, base, tip) == {"a": "\u540d"}
    assert moved(loc, tip, tip) == {}
