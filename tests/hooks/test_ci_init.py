from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from hooks import ci_init
from tests.builders import git, make_store
from xpstore.errors import RefusedError, UsageError
from xpstore.location import Location

ROOT = Path(__file__).resolve().parents[2]
PIN = re.compile(r"[\w/-]+@[0-9a-f]{40}")
MAIN = 're+lease/it\'s "#" @x'


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Location:
    """A store in a folder, on a branch whose name is fit to break things."""
    root = tmp_path_factory.mktemp("ci")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
        git(root, "init", "-q", "-b", MAIN.replace(" ", "-"))
        return make_store(root / "the desk's", main=MAIN.replace(" ", "-"))


def workflows(loc: Location) -> dict[str, dict]:
    planned = ci_init.plan(loc, "github", "xpstore==0.1.0")
    return {Path(file.path).stem: yaml.safe_load(file.text) for file in planned}


def steps(workflow: dict) -> list[dict]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_names_stand_in_workflows_whatever_they_are(desk):
    gate, land = workflows(desk).values()
    pulls = gate[True]["pull_request"]  # YAML takes `on` for true
    assert pulls["branches"] == ['re\\+lease/it\'s-"#"-@x']
    assert pulls["paths"] == ["the desk's/experiences/**"]
    for workflow in (gate, land):
        assert workflow["defaults"]["run"]["working-directory"] == "the desk's"
        checkouts = [s["with"]["ref"] for s in steps(workflow) if "checkout" in s.get("uses", "")]
        assert set(checkouts) == {desk.config.main}


def test_workflows_have_pinned_actions_and_the_least_of_rights(desk):
    for workflow in workflows(desk).values():
        assert "pull_request_target" not in workflow[True]
        assert workflow["permissions"] == {}
        assert workflow["concurrency"]["group"]
        assert all(job["permissions"] and job["timeout-minutes"] for job in workflow["jobs"].values())
        for step in steps(workflow):
            assert step["name"]
            assert "uses" not in step or PIN.fullmatch(step["uses"])
            assert "${{" not in step.get("run", "")  # text of others reaches a shell as a variable only
            assert "fetch-depth" not in step.get("with", {}) or step["with"]["fetch-depth"] == 0
    gate, land = workflows(desk).values()
    assert gate["jobs"]["gate"]["permissions"] == {"contents": "read"}
    assert "head.repo.full_name == github.repository" in gate["jobs"]["report"]["if"]
    assert "head.repo.full_name == github.repository" in land["jobs"]["land"]["if"]
    assert not land["concurrency"]["cancel-in-progress"]


def test_each_script_is_one_that_bash_reads(desk):
    gitlab = yaml.safe_load(ci_init.plan(desk, "gitlab", "xpstore")[0].text)
    scripts = [step["run"] for w in workflows(desk).values() for step in steps(w) if "run" in step]
    for job in gitlab.values():
        scripts += [*job.get("before_script", []), *job.get("script", []), *job.get("after_script", [])]
    assert len(scripts) > 20
    done = subprocess.run(
        ["bash", "-n"], input="\n".join(scripts), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_gitlab_gates_and_lands_merge_requests_one_after_the_other(desk):
    own, shared = ci_init.plan(desk, "gitlab", "xpstore==0.1.0")
    jobs = yaml.safe_load(own.text)
    assert (own.path, shared.path) == (".gitlab/xp.yml", ".gitlab-ci.yml")
    assert yaml.safe_load(shared.text) == {"include": [{"local": ".gitlab/xp.yml"}]}
    assert jobs[".xp"]["variables"]["MAIN"] == desk.config.main
    assert jobs["xp-gate"]["rules"][0]["changes"] == ["the desk's/experiences/**/*"]
    assert (jobs["xp-land"]["resource_group"], jobs["xp-land"]["rules"][0]["when"]) == ("xp-land", "manual")


def test_pre_commit_gets_local_hooks_and_this_repository_offers_the_same(desk):
    [file] = ci_init.plan(desk, "pre-commit", "xpstore")
    [repo] = yaml.safe_load(file.text)["repos"]
    offered = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [(h["id"], h["entry"], h["stages"]) for h in repo["hooks"]] == [
        (h["id"], h["entry"], h["stages"]) for h in offered
    ]
    assert re.search(repo["hooks"][0]["files"], "the desk's/experiences/refund.md")
    assert not re.search(repo["hooks"][0]["files"], "experiences/refund.md")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "hook" in project["entry-points"]["xpstore.commands"]


def test_files_are_written_once_and_other_texts_are_kept(desk, tmp_path):
    git(tmp_path, "clone", "-q", str(desk.repo.place), "clone")
    loc = Location.find(tmp_path / "clone" / "the desk's")
    planned = ci_init.plan(loc, "github", "xpstore")
    assert {file.state for file in planned} == {"new"}
    ci_init.write(loc, planned)
    assert {file.state for file in ci_init.plan(loc, "github", "xpstore")} == {"unchanged"}
    file = tmp_path / "clone" / ".github" / "workflows" / "xp-gate.yml"
    file.write_text("mine\n")
    (file.parent / "xp-land.yml").unlink()
    planned = ci_init.plan(loc, "github", "xpstore")
    assert [file.state for file in planned] == ["changed", "new"]
    with pytest.raises(RefusedError, match="another text"):
        ci_init.write(loc, planned)
    assert (file.read_text(), (file.parent / "xp-land.yml").exists()) == ("mine\n", False)
    ci_init.write(loc, planned, force=True)
    assert file.read_text() == planned[0].text


def test_a_file_of_the_project_is_never_written_over(desk, tmp_path):
    git(tmp_path, "clone", "-q", str(desk.repo.place), "clone")
    loc = Location.find(tmp_path / "clone" / "the desk's")
    config = tmp_path / "clone" / ".pre-commit-config.yaml"
    config.write_text("repos: []\n")
    [planned] = ci_init.plan(loc, "pre-commit", "xpstore")
    assert (planned.state, planned.text.startswith("  - repo: local\n")) == ("theirs", True)
    ci_init.write(loc, [planned], force=True)
    assert config.read_text() == "repos: []\n"
    config.write_text("repos:\n" + planned.text)
    assert ci_init.plan(loc, "pre-commit", "xpstore")[0].state == "unchanged"


def test_the_site_is_guessed_from_the_remotes(desk, tmp_path):
    git(tmp_path, "clone", "-q", str(desk.repo.place), "clone")
    loc = Location.find(tmp_path / "clone" / "the desk's")
    with pytest.raises(UsageError, match="no remote says"):
        ci_init.guess(loc)
    git(loc.repo.place, "remote", "set-url", "origin", "git@gitlab.example:pat/desk.git")
    assert ci_init.guess(Location.find(loc.repo.place)) == "gitlab"


def test_what_would_be_code_and_folders_that_lead_away_are_refused(desk, tmp_path):
    with pytest.raises(UsageError, match="cannot stand in a workflow"):
        ci_init.plan(desk, "github", "xpstore ${{ github.token }}")
    git(tmp_path, "clone", "-q", str(desk.repo.place), "clone")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "clone" / ".github").symlink_to(tmp_path / "elsewhere")
    loc = Location.find(tmp_path / "clone" / "the desk's")
    with pytest.raises(RefusedError, match="leads out of"):
        ci_init.plan(loc, "github", "xpstore")
    git(tmp_path, "clone", "-q", "--bare", str(desk.repo.place), "bare.git")
    with pytest.raises(UsageError, match="has no working tree"):
        ci_init.plan(Location.find(tmp_path / "bare.git"), "github", "xpstore")
