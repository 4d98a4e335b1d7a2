from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from xpstore.cli.main import run

BASE = "## A\n\n- a\n- b\n"


@pytest.fixture
def files(tmp_path):
    def write(ours: str, theirs: str) -> list[str]:
        texts = {"base": BASE, "ours": ours, "theirs": theirs}
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
        return [str(tmp_path / name) for name in texts]

    return write


def test_a_clean_merge_is_left_in_place_of_ours(files):
    paths = files(BASE + "- o\n", BASE.replace("- b", "- t\n- b"))
    assert run(["merge-driver", *paths, "7", "experiences/x.md"]) == 0
    assert Path(paths[1]).read_text() == "## A\n\n- a\n- t\n- b\n- o\n"


def test_doubt_is_marked_and_exits_with_one(files, capsys):
    paths = files(BASE.replace("- a", "- a1"), BASE.replace("- a", "- a2"))
    assert run(["merge-driver", *paths, "7", "experiences/x.md"]) == 1
    assert "<<<<<<< ours\n- a1\n" in Path(paths[1]).read_text()
    assert "experiences/x.md" in capsys.readouterr().err


def test_git_merges_pages_with_it(tmp_path):
    def git(*args: str, code: int = 0) -> str:
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.invalid"]
        done = subprocess.run(
            ["git", *identity, *args], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
        return done.stdout

    page = tmp_path / "experiences" / "x.md"
    page.parent.mkdir()

    def commit(text: str) -> None:
        page.write_text(text)
        git("add", "-A")
        git("commit", "-q", "-m", "Edit")

    git("init", "-q", "-b", "main")
    xp = Path(sys.executable).with_name("xp")
    git("config", "merge.xp.driver", f"'{xp}' merge-driver %O %A %B %L %P")
    git("config", "merge.xp.recursive", "binary")
    (tmp_path / ".gitattributes").write_text("experiences/*.md merge=xp\n")
    commit(BASE)
    git("checkout", "-q", "-b", "other")
    commit("## A\n\n- a\n- b\n- t\n")
    git("checkout", "-q", "main")
    commit("## A\n\n- a\n- b\n- o\n")
    git("merge", "-q", "--no-edit", "other")  # at one place: git alone would not
    assert page.read_text() == "## A\n\n- a\n- b\n- o\n- t\n"
    git("checkout", "-q", "other")
    commit("## A\n\n- a\n- b\n- Never ask.\n")
    git("checkout", "-q", "main")
    commit("## A\n\n- a\n- b\n- o\n- t\n- Always ask.\n")
    git("merge", "-q", "--no-edit", "other", code=1)
    assert git("status", "--porcelain") == "UU experiences/x.md\n"
    assert "<<<<<<< ours" in page.read_text()
