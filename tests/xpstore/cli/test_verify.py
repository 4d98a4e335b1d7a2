from __future__ import annotations

import json
import subprocess

import pytest

from tests.builders import make_plan, upsert
from xpstore.commit import commit
from xpstore.location import Location


@pytest.fixture
def plan_id(store) -> str:
    loc = Location.find(store.path)
    plan = make_plan(loc, upsert("new-page", "Do this.\n"), subject="Teach it", rollouts=())
    commit(loc, [plan], "main")
    return plan.plan_id


def test_all_is_well(store, plan_id):
    assert store.xp("verify") == (0, "1 plan: 1 intact, 0 carried, 0 altered\n", "")
    answer = store.json("verify", "main")
    assert answer["counts"] == {"intact": 1, "carried": 0, "altered": 0, "unknown": 0}
    assert [(f["plan_id"], f["state"]) for f in answer["findings"]] == [(plan_id, "intact")]


def test_an_altered_plan_is_a_no(store, plan_id):
    message = store.git("log", "-1", "--format=%B").replace("Run-Id: run-1", "Run-Id: run-9")
    store.git("commit", "-q", "--amend", "-m", message)
    code, out, _ = store.xp("verify")
    assert code == 1
    assert out.startswith("altered  ")
    assert f"plan {plan_id}" in out
    assert out.endswith("1 plan: 0 intact, 0 carried, 1 altered\n")
    code, out, _ = store.xp("verify", "--json")
    assert code == 1
    assert json.loads(out)["findings"][0]["problems"]


def test_a_clone_without_the_evidence_branch_says_once_how_to_fetch_it(store, plan_id):
    commit = store.git("rev-parse", "HEAD")
    store.git("update-ref", "-d", "refs/heads/xp/evidence")
    next((store.path / ".git").glob("xpstore.seen-*")).unlink()
    store.git("remote", "add", "upstream", "https://example.org/s.git")
    said = (
        "unknown  the evidence branch\n    the evidence branch is not in this clone, so no plan can be"
        " checked; fetch it: git fetch upstream xp/evidence:xp/evidence\n"
        "1 plan: 0 intact, 0 carried, 0 altered, 1 unknown\n"
    )
    assert store.xp("verify") == (1, said, "")
    code, out, _ = store.xp("verify", "--json")
    findings = [(f["plan_id"], f["commit"], f["state"], f["problems"]) for f in json.loads(out)["findings"]]
    assert (code, findings[0]) == (1, (plan_id, commit, "unknown", []))
    store.git("reset", "-q", "--hard", "HEAD~1")
    assert store.xp("verify")[0] == 0, "no plan, no evidence"


def test_an_unknown_ref(store):
    assert store.xp("verify", "nowhere")[0] == 1


def test_signatures_are_listed_and_one_that_has_to_be_there_is_a_no(store, plan_id, tmp_path):
    commit = store.git("rev-parse", "--short=9", "HEAD")
    shown = f"unsigned {commit} plan {plan_id}"
    counts = "1 plan: 0 good, 0 bad, 0 unknown, 1 unsigned"
    assert store.xp("verify", "--signatures") == (0, f"{shown}\n{counts}\n", "")
    key = tmp_path / "key"
    make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(key)]
    subprocess.run(make, check=True, stdin=subprocess.DEVNULL)
    (tmp_path / "allowed").write_text(f"ann@example.org {key.with_suffix('.pub').read_text()}")
    store.git("config", "user.signingKey", str(key))
    store.git("config", "gpg.ssh.allowedSignersFile", str(tmp_path / "allowed"))
    with (store.path / "xp.toml").open("a") as file:
        file.write('\n[sign]\nformat = "ssh"\n')
    store.commit("Ask for signatures")
    assert store.xp("promote", "old-refund")[0] == 0
    code, out, _ = store.xp("verify", "--signatures")
    assert (code, out.count("unsigned "), out.count(": ann@example.org\n")) == (0, 1, 1)
    store.git("commit", "-q", "--amend", "--no-edit")
    code, out, _ = store.xp("verify", "--signatures")
    assert (code, out.splitlines()[1].endswith(": it has to be signed")) == (1, True)
    code, out, _ = store.xp("verify", "--signatures", "--json")
    assert (code, [s["is_wrong"] for s in json.loads(out)["signatures"]]) == (1, [False, True])
