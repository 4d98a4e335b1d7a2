"""Every real recording that lies beside the project imports, and trains; nothing in it is lost on the way.

What has to come out is counted here from the raw JSON, by other code than the readers'.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.recordings import SHARED
from trainer.domain import TextPart
from trainer.importers import read_rollouts
from trainer.importers.write import Counts
from trainer.train import train_files
from xpstore.init import init

if TYPE_CHECKING:
    from pathlib import Path

TRACES = SHARED / "traces"
KINDS = ("atif", "claude-code", "inspect", "mini-swe-agent", "swe-agent")
FILES = sorted(p for p in TRACES.glob("*/*") if p.suffix in {".json", ".jsonl", ".traj"})
FAILS = re.compile(r"\s*(Error\b|\w+Error:|Traceback)")

pytestmark = pytest.mark.skipif(not FILES, reason=f"there are no recordings in {TRACES}")


def blocks(rows, kind):
    return [b for row in rows for b in row["message"]["content"] if isinstance(b, dict) and b["type"] == kind]


def of_atif(text):
    steps = json.loads(text)["steps"]
    results = [(s, r) for s in steps for r in s.get("observation", {}).get("results", [])]
    alone = [r for s, r in results if not s.get("tool_calls")]
    calls = sum(len(s.get("tool_calls", [])) for s in steps)
    failed = sum(bool(FAILS.match(str(r.get("content")))) for s, r in results if s.get("tool_calls"))
    return len(steps) + len(alone), calls, len(results), failed


def of_claude(text):
    rows = [row for row in map(json.loads, text.splitlines()) if row["type"] in {"user", "assistant"}]
    answers = blocks(rows, "tool_result")
    only = sum(not isinstance(r["message"]["content"], str) and r["type"] == "user" for r in rows)
    failed = sum(block.get("is_error", False) for block in answers)
    return len(rows) - only, len(blocks(rows, "tool_use")), len(answers), failed


def of_inspect(text):
    messages = [m for sample in json.loads(text)["samples"] for m in sample["messages"]]
    answers = [m for m in messages if m["role"] == "tool"]
    calls = sum(len(m.get("tool_calls") or []) for m in messages)
    return len(messages) - len(answers), calls, len(answers), sum(bool(m.get("error")) for m in answers)


def of_mini(text):
    messages = json.loads(text)
    commands = [n for n, m in enumerate(messages) if m["role"] == "assistant" and "```mswea" in m["content"]]
    answers = [messages[n + 1]["content"] for n in commands]
    failed = sum("<returncode>" in a and "<returncode>0<" not in a for a in answers)
    return len(messages) - len(answers), len(commands), len(answers), failed


def of_swe(text):
    value = json.loads(text)
    before = next(n for n, m in enumerate(value["history"]) if m["role"] == "assistant")
    ran = [step for step in value["trajectory"] if step["action"].strip()]
    failed = sum(bool(FAILS.match(step["observation"])) for step in ran)
    return before + len(value["trajectory"]), len(ran), len(ran), failed


RAW = dict(zip(KINDS, (of_atif, of_claude, of_inspect, of_mini, of_swe), strict=True))


def test_there_is_a_recording_of_every_kind():
    assert {path.parent.name for path in FILES} == set(KINDS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem[:20]}")
def test_everything_in_a_recording_is_in_its_rollout(path: Path):
    result = read_rollouts([path])
    assert (result.problems, result.duplicates, result.remarks) == ((), (), ())
    counts = Counts()
    for rollout in result.rollouts:
        counts.add(rollout, path.parent.name)
    assert counts.rollouts == 1
    found = (counts.messages, counts.tool_calls, counts.results, counts.errors)
    assert found == RAW[path.parent.name](path.read_text(encoding="utf-8"))


def leaves(value):
    if isinstance(value, dict | list):
        return [t for item in (value.values() if isinstance(value, dict) else value) for t in leaves(item)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem[:20]}")
def test_nothing_is_said_that_is_not_in_the_recording(path: Path):
    text = path.read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else json.loads(text)
    said = leaves(rows)
    for message in read_rollouts([path]).rollouts[0].messages:
        for part in message.parts:
            shown = part.text if isinstance(part, TextPart) else part.tool_output
            if not shown.startswith("[side agents, recorded apart: "):
                assert all(any(line in leaf for leaf in said) for line in shown.split("\n")), shown


def test_each_trains_and_what_has_no_score_is_told(tmp_path):
    init(tmp_path / "s")
    unscored = []
    for path in FILES:
        report = asyncio.run(train_files([path], location=tmp_path / "s"))
        assert (report.rollouts, report.exit_code, report.failures, report.problems) == (1, 0, (), ()), path
        assert len(report.nothing) == 1
        unscored += [path.parent.name] if report.unscored else []
    assert set(unscored) == set(KINDS) - {"inspect"}
