from __future__ import annotations

from tests.builders import make_plan, upsert
from xpstore.commit import commit
from xpstore.location import Location


def test_status_tells_how_the_store_stands(store):
    loc = Location.find(store.path)
    commit(loc, [make_plan(loc, upsert("new-page", "Do this.\n"))], "train/x")
    store.write("broken", "---\na: [\n---\n")
    store.commit()
    commit(loc, [make_plan(loc, upsert("other", "Do that.\n"))], "xp/conflict/12ab")
    code, out, err = store.xp("status")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[:3] == [
        "On branch main",
        "Store teststore; agents read main",
        "4 experiences: 3 production, 1 archived",
    ]
    assert lines[3].startswith("  not an experience: broken: ")
    assert lines[4:] == [
        "1 rollout on record",
        "Candidates:",
        "  train/x  1 commit",
        "  (git diff main...train/x to review)",
        "  (xp land train/x to accept)",
        "Conflicts that wait for a decision:",
        "  xp/conflict/12ab",
        "  (xp resolve xp/conflict/12ab to decide)",
        "Only local: main, xp/evidence, train/x (there is no remote)",
    ]


def test_status_json(store):
    answer = store.json("status")
    assert answer["store"] == {
        "id": "teststore",
        "name": "",
        "prefix": "",
        "main": "main",
        "repository": str(store.path),
    }
    assert answer["statuses"] == {"production": 3, "archived": 1}
    assert answer["candidates"] == []


def test_status_outside_a_store(tmp_path, capsys, monkeypatch):
    from xpstore.cli.main import run

    monkeypatch.chdir(tmp_path)
    assert run(["status"]) == 2
    assert "hint: xp init" in capsys.readouterr().err
