"""The workflows that `xp ci init` writes, each step of them run with bash on a real repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from hooks import ci_init
from tests.builders import git
from tests.site_runner import INSTALL, ROOT, Site, serving
from tests.trainer.case_store import install_scripted
from tests.trainer.gate_store import make_gate_store
from xpstore.location import Location

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.site_runner import Job

EVIDENCE = "refs/heads/xp/evidence"
PUSHED = "https://xp:secret@site.example/pat/desk.git"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A site that hosts a store with pull requests 7 (it gets better) and 8 (it gets worse)."""
    desk = make_gate_store(tmp_path / "desk")
    loc = Location.find(desk)
    ci_init.write(loc, ci_init.plan(loc, "github", "xpstore==0.1.0"))
    git(desk, "add", ".github")
    git(desk, "commit", "-qm", "Gate in CI")
    for number, branch in ((7, "better"), (8, "worse")):
        git(desk, "update-ref", f"refs/pull/{number}/head", f"train/{branch}")
    git(tmp_path, "clone", "-q", "--mirror", "desk", "origin.git")
    (tmp_path / "machines").mkdir()
    with serving() as (api, comments, calls):
        yield Site(
            tmp_path / "origin.git",
            tmp_path / "machines",
            install_scripted(tmp_path / "site"),
            api,
            comments,
            calls,
        )


def gate(site: Site, number: int) -> tuple[Job, Job]:
    head = git(site.origin, "rev-parse", f"refs/pull/{number}/head")
    table = {
        "github.event.pull_request.number": str(number),
        "github.event.pull_request.head.sha": head,
        "github.server_url": "https://site.example",
        "github.repository": "pat/desk",
        "github.token": "secret",
    }
    file = site.origin.parent / "desk" / ".github" / "workflows" / "xp-gate.yml"
    return site.run(file, "gate", table), site.run(file, "report", table)


def land(site: Site, branch: str) -> Job:
    file = site.origin.parent / "desk" / ".github" / "workflows" / "xp-land.yml"
    accept = "inputs.accept_inconclusive && '--accept-inconclusive' || ''"
    return site.run(
        file, "land", {"inputs.branch || github.head_ref": branch, accept: "", "github.actor": "pat"}
    )


def test_a_pull_request_is_gated_commented_on_and_landed(site):
    gated, reported = gate(site, 7)
    assert gated.is_green, gated.log
    assert reported.is_green, reported.log
    assert "## Gate: ACCEPT, progress" in gated.summary.read_text()
    assert "    test on " in gated.summary.read_text()
    assert (gated.temp / "xp" / "junit.xml").is_file()
    assert "gates" in git(site.origin, "ls-tree", "--name-only", EVIDENCE).split()
    [comment] = site.comments[7]
    assert "ACCEPT, progress" in comment["body"]
    assert "https://site.example/pat/desk/actions/runs/99" in comment["body"]

    before = git(site.origin, "rev-parse", "main")
    landed = land(site, "train/better")
    assert landed.is_green, landed.log
    main, branch = git(site.origin, "rev-parse", "main", "train/better").split()
    assert main == branch != before
    assert git(site.origin, "merge-base", before, main) == before
    assert re.search(r"[1-9]\d* trials run", landed.log), "pushed figures are not what lands it"
    assert "landed on main" in landed.summary.read_text()


@pytest.mark.stress
def test_a_harmful_pull_request_is_not_landed_and_its_comment_is_written_over(site):
    gated, reported = gate(site, 8)
    assert [name for name, ok in gated.results.items() if not ok] == ["Gate"], gated.log
    assert reported.is_green, reported.log
    assert "## Gate: REJECT" in gated.summary.read_text()
    assert "REJECT" in site.comments[8][0]["body"]

    before = git(site.origin, "rev-parse", "main")
    refused = land(site, "train/worse")
    assert [name for name, ok in refused.results.items() if not ok] == ["Land"], refused.log
    assert git(site.origin, "rev-parse", "main") == before

    assert gate(site, 8)[1].is_green
    assert len(site.comments[8]) == 1


@pytest.mark.stress
def test_a_gate_that_does_not_finish_says_so(site):
    shutil.rmtree(site.python_path)  # the environment is not installed there
    gated, reported = gate(site, 7)
    assert not gated.is_green
    assert "The gate did not finish" in gated.summary.read_text()
    assert reported.is_green, reported.log
    assert "It did not finish" in site.comments[7][0]["body"]


def gitlab(site: Site, job: str, branch: str, number: int) -> list[subprocess.CompletedProcess[str]]:
    """Run a job of a merge request as GitLab does: one shell for most of it, another one for the end."""
    jobs = yaml.safe_load((site.origin.parent / "desk" / ".gitlab" / "xp.yml").read_text())
    machine = Path(tempfile.mkdtemp(dir=site.where))
    (machine / ".gitconfig").write_text(f'[url "{site.origin}"]\n\tinsteadOf = {PUSHED}\n')
    git(machine, "clone", "-q", str(site.origin), "desk")
    head = git(site.origin, "rev-parse", branch)
    git(machine / "desk", "checkout", "-q", "--detach", head)
    env = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "GITHUB_"))},
        **jobs[".xp"]["variables"],
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{site.python_path}:{ROOT}",
        "HOME": str(machine),
        "CI_API_V4_URL": site.api,
        "CI_COMMIT_SHA": head,
        "CI_MERGE_REQUEST_IID": str(number),
        "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": branch,
        "CI_PROJECT_DIR": str(machine / "desk"),
        "CI_PROJECT_ID": "3",
        "CI_PROJECT_PATH": "pat/desk",
        "CI_PROJECT_URL": "https://site.example/pat/desk",
        "CI_SERVER_FQDN": "site.example",
        "CI_SERVER_PROTOCOL": "https",
        "GITLAB_USER_EMAIL": "pat@example.org",
        "GITLAB_USER_NAME": "Pat",
        "XP_TOKEN": "secret",
    }
    main = [*jobs[".xp"]["before_script"], *jobs[job]["script"]]
    scripts = [[line for line in main if line != INSTALL], jobs[job].get("after_script", [])]
    return [
        subprocess.run(
            ["bash", "-eo", "pipefail", "-c", "\n".join(lines)],
            cwd=machine / "desk",
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        for lines in scripts
    ]


@pytest.mark.stress
def test_gitlab_gates_comments_on_and_lands_a_merge_request(site):
    loc = Location.find(site.origin.parent / "desk")
    ci_init.write(loc, ci_init.plan(loc, "gitlab", "xpstore==0.1.0"))
    for branch, number, code, word in (("train/better", 7, 0, "ACCEPT"), ("train/worse", 8, 1, "REJECT")):
        run, after = gitlab(site, "xp-gate", branch, number)
        assert run.returncode == code, run.stdout + run.stderr
        assert after.returncode == 0, after.stdout + after.stderr
        assert word in str(site.comments[number][0]["body"])
    before = git(site.origin, "rev-parse", "main")
    assert gitlab(site, "xp-land", "train/worse", 8)[0].returncode == 1
    assert git(site.origin, "rev-parse", "main") == before
    run, _ = gitlab(site, "xp-land", "train/better", 7)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "0 trials run" in run.stdout
    assert git(site.origin, "rev-parse", "main") == git(site.origin, "rev-parse", "train/better") != before
