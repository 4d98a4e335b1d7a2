from __future__ import annotations

import json


def test_export_writes_skills_and_says_what_was_left_out(store):
    code, out, err = store.xp("export", "--format", "skills", "-o", "skills")
    assert code == 0
    head = store.git("rev-parse", "HEAD")
    assert out == f"Wrote 3 experiences of {head[:9]} to skills\n"
    assert "left out: old-refund: its status is archived" in err
    assert (store.path / "skills" / "cancel-flight" / "SKILL.md").is_file()
    again = store.json("export", "--format", "skills", "-o", "skills")
    assert (again["written"], again["commit"], again["format"]) == ([], head, "skills")
    assert len(again["unchanged"]) == 3


def test_a_block_goes_to_standard_output_where_no_file_is_named(store):
    code, out, _ = store.xp("export", "--format", "agents-md")
    assert code == 0
    assert out.startswith("<!-- xpstore:begin ")
    code, out, _ = store.xp("export", "--format", "json")
    assert {row["name"] for row in json.loads(out)["experiences"]} >= {"退票", "cancel-flight"}


def test_a_dry_run_writes_nothing(store):
    code, out, _ = store.xp("export", "--format", "openviking", "--all", "-o", "memories", "-n")
    assert (code, out.split()[:3]) == (0, ["Would", "write", "4"])
    assert not (store.path / "memories").exists()


def test_wrong_use_is_told(store):
    assert store.xp("export", "--format", "skills")[0] == 2
    assert store.xp("export", "--format", "agents-md", "--json")[0] == 2
    assert store.xp("export", "--format", "pdf", "-o", "x")[0] == 2
    assert store.xp("export")[0] == 2
    assert store.xp("export", "--format", "json", "--ref", "nowhere", "-o", "x")[0] == 1


def test_what_is_in_the_way_is_a_no(store):
    (store.path / "x.json").write_text("{}")
    code, _, err = store.xp("export", "--format", "json", "-o", "x.json")
    assert code == 1
    assert err.startswith("error: ")
    assert "--force" in err
    assert store.xp("export", "--format", "json", "-o", "x.json", "--force")[0] == 0
