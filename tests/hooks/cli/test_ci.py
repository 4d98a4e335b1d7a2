from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_store
from tests.site_runner import serving
from xpstore.cli.main import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    return make_store(tmp_path / "desk").repo.place


def xp(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = run(args)
    return code, *capsys.readouterr()


def test_files_are_shown_written_and_known_again(desk, capsys):
    code, out, _ = xp(capsys, "-C", str(desk), "ci", "init", "github", "--dry-run")
    assert (code, out.splitlines()[0]) == (0, "would write .github/workflows/xp-gate.yml")
    assert "    name: Experience gate" in out
    assert not (desk / ".github").exists()
    git(desk, "remote", "add", "origin", "https://github.com/pat/desk.git")
    code, out, err = xp(capsys, "-C", str(desk), "ci", "init")
    assert out.startswith("wrote .github/workflows/xp-gate.yml\nwrote .github/workflows/xp-land.yml\n")
    assert "pip installs xpstore" in out
    assert "  git add .github/workflows/xp-gate.yml .github/workflows/xp-land.yml\n" in out
    assert err.startswith("warning: the gate cannot run yet: the store names no environment")
    assert "xpstore==" in (desk / ".github" / "workflows" / "xp-land.yml").read_text()
    code, out, _ = xp(
        capsys, "-C", str(desk), "ci", "init", "github", "--install", "xpstore @ https://x.example"
    )
    assert code == 1
    code, out, _ = xp(capsys, "-C", str(desk), "ci", "init", "github", "--json")
    assert (code, [file["state"] for file in json.loads(out)["files"]]) == (0, ["unchanged"] * 2)
    assert json.loads(out)["no_gate"] == "the store names no environment to measure it in"


def test_what_the_projects_own_file_needs_is_shown(desk, capsys):
    (desk / ".gitlab-ci.yml").write_text("stages: [test]\n")
    _, out, _ = xp(capsys, "-C", str(desk), "ci", "init", "gitlab")
    assert out.splitlines()[:3] == ["wrote .gitlab/xp.yml", "left alone: .gitlab-ci.yml", "  it needs:"]
    assert "      - local: .gitlab/xp.yml" in out


def test_no_site_is_wrong_use(desk, capsys):
    assert xp(capsys, "-C", str(desk), "ci", "init")[0] == 2
    assert xp(capsys, "-C", str(desk), "ci", "init", "sourcehut")[0] == 2


def test_the_comment_goes_to_the_request_that_the_run_is_for(tmp_path, capsys, monkeypatch):
    report = tmp_path / "report.md"
    report.write_text("# Gate\n")
    for name in ("GITHUB_EVENT_PATH", "CI_MERGE_REQUEST_IID", "GITHUB_TOKEN", "XP_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    assert xp(capsys, "ci", "comment", str(report))[0] == 2
    with serving() as (api, comments, _):
        event = tmp_path / "event.json"
        event.write_text('{"pull_request": {"number": 7}}')
        monkeypatch.setenv("GITHUB_EVENT_PATH", str(event))
        monkeypatch.setenv("GITHUB_API_URL", api)
        monkeypatch.setenv("GITHUB_REPOSITORY", "pat/desk")
        code, _, err = xp(capsys, "ci", "comment", str(report))
        assert (code, "GITHUB_TOKEN is not set" in err) == (2, True)
        monkeypatch.setenv("GITHUB_TOKEN", "secret")
        assert xp(capsys, "ci", "comment", str(report))[:2] == (0, "written: the comment on number 7\n")
        event.write_text("{}")
        assert xp(capsys, "ci", "comment", str(report))[0] == 2
        monkeypatch.delenv("GITHUB_EVENT_PATH")
        monkeypatch.setenv("CI_MERGE_REQUEST_IID", "8")
        monkeypatch.setenv("CI_API_V4_URL", api)
        monkeypatch.setenv("CI_PROJECT_ID", "3")
        monkeypatch.setenv("XP_TOKEN", "secret")
        answer = json.loads(xp(capsys, "ci", "comment", str(tmp_path / "none"), "--json")[1])
    assert answer == {"site": "gitlab", "number": 8, "state": "written"}
    assert "It did not finish" in str(comments[8][0]["body"])


def test_variables_that_say_nothing_are_wrong_use(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(tmp_path / "none"))
    code, _, err = xp(capsys, "ci", "comment", "report.md")
    assert (code, "is no event" in err) == (2, True)
    monkeypatch.delenv("GITHUB_EVENT_PATH")
    monkeypatch.setenv("CI_MERGE_REQUEST_IID", "x")
    for name in ("CI_API_V4_URL", "CI_PROJECT_ID", "XP_TOKEN"):
        monkeypatch.setenv(name, "x")
    assert xp(capsys, "ci", "comment", "report.md")[0] == 2
