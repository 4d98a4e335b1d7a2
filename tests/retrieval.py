"""Tasks as users and agents put them, with the page that is right for each: `retrieval_set.json`.

The pages are lessons of the order desk and of tau-bench's airline, learned ones and ones by hand, English and
Chinese. No task was changed for a figure. The search was tuned on the first 89; the last 34 were written
afterwards, and it found 0.90 of their pages among the first three, against 0.94.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from xpstore.experience import Experience, ExperienceSet

if TYPE_CHECKING:
    from collections.abc import Callable

_SET = json.loads(Path(__file__).with_name("retrieval_set.json").read_text("utf-8"))
PAGES: dict[str, str] = _SET["pages"]


@dataclass(frozen=True)
class Task:
    """A task, its language, and the pages that are right for it."""

    task: str
    lang: str
    pages: tuple[str, ...]


TASKS = [Task(row["task"], row["lang"], tuple(row["pages"])) for row in _SET["tasks"]]


def policy() -> ExperienceSet:
    """Return the pages as a policy."""
    pages = tuple(Experience(name=name, text=text) for name, text in sorted(PAGES.items()))
    return ExperienceSet(root_uri="experiences", policies=pages)


def recall(method: Callable[[str], list[str]], at: int, lang: str = "") -> float:
    """Return the mean share of right pages among a method's first `at`, at best 1 for each task."""
    tasks = [task for task in TASKS if lang in {"", task.lang}]
    shares = [len({*method(t.task)[:at]} & {*t.pages}) / min(at, len(t.pages)) for t in tasks]
    return sum(shares) / len(shares)
