"""What tests of bad conditions share: a trained store to spoil, and an `xp` that answers with one error."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.builders import git, identify
from xpstore.cli.main import run

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    import pytest

PAGE = "refund"
READING = (
    ("log",),
    ("show",),
    ("diff", "HEAD~1", "HEAD"),
    ("status",),
    ("context", "refund", "an", "order"),
    ("search", "order"),
    ("verify",),
)
WRITING = (("deprecate", PAGE), ("revert", "HEAD"))
SPOILED = (
    "HEAD",
    "HEAD^{tree}",
    "HEAD:experiences",
    f"HEAD:experiences/{PAGE}.md",
    "xp/evidence",
    "xp/evidence^{tree}",
    "xp/evidence:ledger",
)
"""The objects of a trained store that are loose, to be spoiled one by one."""


@dataclass(frozen=True)
class Answer:
    """What a command line gave."""

    code: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The one error and its hint."""
        assert self.code in {1, 2}, self
        lines = [line for line in self.err.splitlines() if not line.startswith("not ")]
        assert lines[0].startswith("error: "), self.err
        assert lines[1].startswith("hint: "), self.err
        assert "Traceback" not in self.err
        return self.err


@dataclass(frozen=True)
class Xp:
    """`xp` in this process."""

    capsys: pytest.CaptureFixture[str]

    def __call__(self, where: Path, *args: str) -> Answer:
        self.capsys.readouterr()
        sys.stdout.reconfigure(errors="backslashreplace")  # as `main` does
        code = run(["-C", str(where), *args])
        captured = self.capsys.readouterr()
        assert code in {0, 1, 2}, captured.err
        answer = Answer(code, captured.out, captured.err)
        if code and "error: " in answer.err:
            assert answer.error
        return answer


def chat(number: int) -> dict[str, object]:
    """Return a rollout: those that look an order up before they refund it pass."""
    order = f"#W{number}"
    found = {"role": "tool", "tool_call_id": "get_order", "content": '{"paid": 1}'}
    look_up = [call("get_order", order), found]
    refund = [call("refund", order), {"role": "tool", "tool_call_id": "refund", "content": "done"}]
    asked = [{"role": "user", "content": f"Refund order {order}."}]
    passed = number % 2
    return {
        "messages": [*asked, *(look_up if passed else []), *refund],
        "score": passed,
        "case": f"c{number // 4}",
    }


def call(tool: str, order: str) -> dict[str, object]:
    function = {"name": tool, "arguments": json.dumps({"order": order})}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": tool, "function": function}]}


def rollouts(file: Path, first: int = 0, last: int = 24) -> Path:
    file.write_text("".join(json.dumps(chat(n)) + "\n" for n in range(first, last)), encoding="utf-8")
    return file


def trained(where: Path) -> Path:
    """Return a store whose main branch has learned from 24 rollouts, in one pack but for SPOILED."""
    assert run(["init", str(where)]) == 0
    identify(where)
    file = rollouts(where.parent / "first.jsonl")
    assert run(["-C", str(where), "train", str(file), "--branch", "main"]) == 0
    unpack(where)
    pack_all_but(where, SPOILED)
    shutil.rmtree(where / ".git" / "hooks", ignore_errors=True)
    return where


def unpack(where: Path) -> None:
    folder = where / ".git" / "objects" / "pack"
    for pack in folder.glob("*.pack"):
        aside = pack.rename(where.parent / pack.name)
        pack.with_suffix(".idx").unlink()
        with aside.open("rb") as stream:
            subprocess.run(["git", "unpack-objects", "-q"], stdin=stream, cwd=where, check=True)


def pack_all_but(where: Path, specs: Collection[str]) -> None:
    """Put loose objects in a pack: few files are quickly copied."""
    every = git(where, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    packed = set(every) - set(git(where, "rev-parse", *specs).split())
    command = ["git", "pack-objects", "-q", ".git/objects/pack/pack"]
    subprocess.run(command, input="\n".join(packed), text=True, cwd=where, check=True, capture_output=True)
    git(where, "prune-packed")


def loose(where: Path, spec: str) -> tuple[Path, str]:
    """Return the file of a loose object, made writable, and its id."""
    found = git(where, "rev-parse", spec)
    file = where / ".git" / "objects" / found[:2] / found[2:]
    file.chmod(0o644)
    return file, found


def leftovers(where: Path) -> list[str]:
    """Return the locks and drafts that lie about in a git directory."""
    files = (p for p in (where / ".git").rglob("*") if p.suffix in {".lock", ".keep", ".part"})
    return sorted(p.name for p in files if p.name != "xpstore.lock")
