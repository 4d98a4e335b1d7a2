"""Training on 200 MB stays under 600 MB, whatever the file looks like."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.bad import chat
from xpstore.cli.main import run

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.stress
SIZE = 200 * 10**6
LIMIT = 600 * 10**6
WORDS = Path(__file__).read_text(encoding="utf-8").split()


def many() -> Iterator[dict]:
    """Yield rollouts of twenty kilobytes."""
    drawn = random.Random(1)  # noqa: S311  # text, no secret
    for number in range(SIZE // 20_000):
        rollout = chat(number)
        talk = (" ".join(drawn.choices(WORDS, k=70)) for _ in range(30))
        said = [{"role": "assistant" if n % 2 else "user", "content": text} for n, text in enumerate(talk)]
        yield {**rollout, "messages": [*rollout["messages"], *said]}


def giant() -> Iterator[dict]:
    """Yield rollouts with an answer of two megabytes."""
    for number in range(SIZE // 2_000_000):
        rollout = chat(number)
        rollout["messages"][-1]["content"] = f"{number} done\n" * (2_000_000 // 8)
        yield rollout


def small() -> Iterator[dict]:
    """Yield rollouts of less than a kilobyte, as many as fit into a tenth: what grows is seen."""
    yield from map(chat, range(SIZE // 10 // 700))


@pytest.mark.parametrize(("kind", "is_array"), [(many, False), (giant, True), (small, False)])
def test_memory_of_training(tmp_path, kind, is_array):
    file = tmp_path / "in.json"
    with file.open("w") as out:
        out.write("[" if is_array else "")
        for number, rollout in enumerate(kind()):
            out.write(("," if is_array and number else "") + json.dumps(rollout) + "\n")
        out.write("]" if is_array else "")
    assert run(["init", str(tmp_path / "s")]) == 0
    command = [Path(sys.executable).with_name("xp"), "-C", tmp_path / "s", "train", file]
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    answer = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    sys.stdout.write(
        f"{kind.__name__}: {usage.ru_maxrss * 1024 / 1e6:.0f} MB, {usage.ru_utime:.0f} s\n{answer}"
    )
    assert process.returncode == 0
    assert usage.ru_maxrss * 1024 < LIMIT
