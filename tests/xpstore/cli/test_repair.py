from __future__ import annotations


def test_repair_says_what_it_mended_and_what_is_left(store):
    assert store.xp("repair") == (0, "Nothing is broken.\n", "")
    ref = store.path / ".git" / "refs" / "heads" / "main"
    ref.write_bytes(b"")
    code, out, err = store.xp("repair", "--dry-run")
    assert (code, err, ref.read_bytes()) == (1, "", b"")
    assert out.startswith("refs/heads/main: cannot read refs/heads/main in ")
    assert out.endswith(" repair mends what can be mended\n")
    found = store.json("repair")
    assert (found["whole"], found["missing"], [f["what"] for f in found["faults"]]) == (
        True,
        [],
        ["refs/heads/main"],
    )
    assert found["kept_in"].endswith("xpstore.lost/1")


def test_what_nobody_has_is_left_and_exits_with_one(store):
    blob = store.git("rev-parse", "HEAD:xp.toml")
    (store.path / "xp.toml").write_text((store.path / "xp.toml").read_text() + "# mine\n")
    (store.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    code, out, _ = store.xp("repair")
    assert code == 1
    assert f"blob {blob}: nobody here has it" in out
    assert "fetch --refetch REMOTE" in out
