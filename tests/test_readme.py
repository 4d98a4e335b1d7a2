"""What the README shows is what happens: every console block is run, in order, and compared."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from xpstore.cli.verbs import installed

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
IDS = re.compile(r"\b[0-9a-f]{7,40}\b")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def commands(block: str) -> list[tuple[str, str]]:
    """Return command and expected output of each `$ ` line."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(command, shown) for command, _, shown in (p.partition("\n") for p in parts)]


def plain(text: str) -> str:
    """Ids and homes differ; trailing blanks are nobody's business."""
    text = re.sub(r"\b([a-z]+)/[0-9a-f]{2}/", r"\1/00/", re.sub(r" in /\S*/", " in …/", text))
    masked = IDS.sub(lambda m: "0" * len(m[0]), text)
    return "\n".join(line.rstrip() for line in masked.strip().splitlines())


def pattern(shown: str) -> str:
    """A line that is `…` stands for lines that are not shown."""
    return r"\n".join("(?s:.*)" if line == "…" else re.escape(line) for line in shown.split("\n"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone in somebody's home, as far as the README needs it."""
    place = tmp_path_factory.mktemp("home") / "xpstore"
    place.mkdir()
    (place / "sample_repo").symlink_to(ROOT / "sample_repo")
    return place


def environment(place: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "XP_"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {
        **kept,
        "PATH": path,
        "HOME": str(place.parent),
        "LC_ALL": "C.UTF-8",
        "NO_COLOR": "1",
        "TZ": "UTC",
    }


@pytest.mark.slow
def test_every_console_block_is_what_happens(place):
    found = [c for block in blocks("console") for c in commands(block)]
    assert len(found) >= 6
    for command, shown in found:
        typed = ["bash", "-c", command]
        done = subprocess.run(
            typed, cwd=place, env=environment(place), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert re.fullmatch(pattern(plain(shown)), plain(done.stdout)), f"{command}\n{done.stdout}"
    for block in blocks("python"):
        subprocess.run(
            [sys.executable, "-c", block], cwd=place, env=environment(place), capture_output=True, check=True
        )


def test_every_verb_is_in_the_table():
    listed = set(re.findall(r"`xp ([a-z]+)`", README))
    xp = str(Path(sys.executable).with_name("xp"))
    done = subprocess.run([xp, "--help"], capture_output=True, text=True, check=True)
    verbs = set(re.findall(r"^  ([a-z]+)  ", done.stdout, re.MULTILINE))
    assert verbs
    assert verbs <= listed


def test_the_documents_that_it_links_are_there():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_test_command_is_what_ci_runs():
    assert "make test" in README
    assert "make test" in (ROOT / ".ci/run").read_text(encoding="utf-8")


def test_commands_that_are_shown_and_not_run_have_the_options_that_they_name():
    lines = re.findall(r"^    xp (.+)$", README, re.MULTILINE)
    lines += re.findall(r"`xp ([^`…]+ [^`…]+)`", README)
    assert len(lines) > 30
    for line in lines:
        words = shlex.split(line.split("  ")[0].split(" # ")[0].split(" > ")[0])
        if words[0] == "-C":
            continue
        command: click.Command = installed()[words.pop(0)].load()
        while isinstance(command, click.Group) and words and words[0] in command.commands:
            command = command.commands[words.pop(0)]
        context = click.Context(command)
        words += ["VALUE"] if words and words[-1].startswith("-") else []  # prose names an option alone
        command.make_parser(context).parse_args(words)  # raises NoSuchOption
