"""`xp serve` that is killed under clients: what was committed is learned exactly once, and no task hangs.

The learner, and who finds cases, never say the same twice: whatever was done twice is seen.
"""

from __future__ import annotations

import os
import random
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, identify, make_store, texts
from tests.e2e.llm import make_template
from tests.fickle import check
from tests.llm_world import DIGITS, LESSONS, QUOTE, teach, topic_of
from tests.serving import Client, Served, zygote
from trainer.domain import Case, Rubric, RubricEvaluation
from trainer.remote.session_case import render_case_spec, render_outcome
from xpstore import evidence, inbox
from xpstore.ledger import ledgers
from xpstore.location import Location
from xpstore.sync import sync
from xpstore.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

from tests.serving import Zygote

CLIENTS = 8
PAGES = 3


@pytest.fixture
def forks() -> Iterator[Zygote]:
    with zygote() as made:
        yield made


def messages(number: int) -> list[dict[str, object]]:
    """Return a session: every second one says what its case is."""
    said = [
        {"role": "user", "content": f"please do number {number}"},
        {
            "role": "assistant",
            "parts": [{"type": "tool", "tool_name": "do", "tool_id": "1", "tool_status": "completed"}],
        },
    ]
    outcome = {"role": "user", "content": render_outcome(RubricEvaluation(passed=True, score=1.0))}
    name = f"page-{number % PAGES}"
    spec = {"role": "system", "content": render_case_spec(Case(name=name, rubric=Rubric(name=name)))}
    return [spec, *said, outcome] if number % 2 else [*said, outcome]


class Killing:
    """Clients that count what they have done, and whoever kills the service at some of these moments."""

    def __init__(self, served: list[Served], kills: int, seed: int) -> None:
        self._served = served
        self._drawn = random.Random(seed)  # noqa: S311 - moments, no secret
        self._left = kills
        self._count = 0
        self._next = 1
        self._turn = threading.Lock()
        self.killed = 0
        self._failure = ""

    def step(self) -> None:
        """Kill a service at this moment, if it is one."""
        with self._turn:
            assert not self._failure, self._failure  # else the others go on until there is no time left
            self._count += 1
            if self._count < self._next or self.killed >= self._left:
                return
            self._next = self._count + self._drawn.randrange(1, 6)
            self.killed += 1
            one = self._served[self.killed % len(self._served)]
            try:
                one.kill()
                one.start()
            except BaseException as error:
                self._failure = f"kill {self.killed}: {error}"
                raise


class Killer(Client):
    """A client after whose requests the service may be killed."""

    def __init__(self, served: Served, killing: Killing) -> None:
        super().__init__(served)
        self._killing = killing

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, dict[str, object]]:
        answer = super().ask(method, path, body)
        self._killing.step()
        return answer


def live(
    served: list[Served], kills: int, sessions: int, seed: int, said: Callable[[int], list] | None = None
) -> list[dict[str, object]]:
    """Let clients commit sessions, at least `sessions` each, until the last kill; return the tasks."""
    killing = Killing(served, kills, seed)
    for one in served:
        one.start()

    def work(name: int) -> list[dict[str, object]]:
        client = Killer(served[name % len(served)], killing)
        done = []
        number = 0
        while number < sessions or killing.killed < kills:
            done.append(client.commit(f"c{name}-{number}", (said or messages)(101 * name + number)))
            number += 1
        client.close()
        return done

    with ThreadPoolExecutor(CLIENTS) as pool:
        tasks = [task for done in pool.map(work, range(CLIENTS)) for task in done]
    assert killing.killed == kills
    for one in served:
        assert one.end() == 0
    return tasks


def learned(tasks: list[dict[str, object]]) -> list[str]:
    """Return the rollouts of tasks, of which each has one and is completed."""
    assert [task["error"] for task in tasks if task["status"] != "completed"] == []
    rows = [task["result"]["rollouts"] for task in tasks]
    assert {len(row) for row in rows} == {1}
    assert all(len(task["result"]["plans"]) == len(task["result"]["commits"]) == 1 for task in tasks)
    return [row[0]["rollout"] for row in rows]


def test_every_session_is_learned_exactly_once_whenever_the_service_is_killed(tmp_path: Path, forks: Zygote):
    store = tmp_path / "s"
    make_store(store)
    tasks = live([Served(forks, store)], kills=10, sessions=1, seed=3)
    found = learned(tasks)
    check(store, found)
    loc = Location.find(store)
    assert len(found) == len(set(found)) == len(dict(ledgers(loc)))
    of_rollouts = {e["case"] for events in dict(ledgers(loc)).values() for e in events if "case" in e}
    assert len(evidence.listing(loc, "cases")) == len(
        of_rollouts
    )  # whoever asked twice kept the first answer


@pytest.mark.stress
def test_two_hundred_kills(tmp_path: Path, forks: Zygote):
    store = tmp_path / "s"
    make_store(store)
    tasks = live([Served(forks, store)], kills=200, sessions=4, seed=int(os.environ.get("XP_SEED", "4")))
    found = learned(tasks)
    check(store, found)
    sys.stdout.write(f"\n200 kills, {len(tasks)} sessions of {CLIENTS} clients, each learned once\n")


@pytest.mark.stress
def test_services_of_two_clones_that_are_killed_learn_their_own_exactly_once(tmp_path: Path, forks: Zygote):
    """Each teaches its own main and exchanges it; neither takes up what the other one is at."""
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "shared.git")
    first = make_store(tmp_path / "c0")
    git(tmp_path / "c0", "remote", "add", "origin", str(tmp_path / "shared.git"))
    sync(first)
    git(tmp_path, "clone", "-q", "shared.git", "c1")
    identify(tmp_path / "c1")
    clones = [tmp_path / "c0", tmp_path / "c1"]
    over = threading.Event()

    def exchange() -> None:
        while not over.is_set():
            for clone in clones:
                sync(Location.find(clone))

    syncing = threading.Thread(target=exchange)
    syncing.start()
    try:
        tasks = live([Served(forks, clone, branch="main") for clone in clones], kills=60, sessions=4, seed=6)
    finally:
        over.set()
        syncing.join()
    for clone in (*clones, clones[0]):
        sync(Location.find(clone))
    found = learned(tasks)
    for clone in clones:
        check(clone, found, "main")
    assert git(clones[0], "rev-parse", "main") == git(clones[1], "rev-parse", "main")
    sys.stdout.write(f"\n60 kills, {len(tasks)} sessions in two clones, each learned once\n")


@pytest.mark.stress
def test_a_model_whose_second_answer_differs_makes_no_second_rollout(tmp_path: Path, llm_server, monkeypatch):
    """No session says what its case is: the model does, and never twice the same."""
    numbers = count()

    def case(seen) -> object:
        number = next(numbers)
        found = {
            "asked": f"about the topic {topic_of(seen)}",
            "seen": QUOTE,
            "task": f"Do what letter {number} asks for.",
            "criteria": [{"name": "looked first", "description": f"It looks first, {number}."}],
            "name": f"task {number}",
        }
        return {"cases": [found], "nothing": ""}

    teach(llm_server).on("case", case)
    monkeypatch.setenv("OPENAI_BASE_URL", llm_server.url)
    store = make_template(tmp_path / "s", retries=0)
    with zygote() as forks:
        served = Served(forks, store, fickle=False, options=["--learner", "llm"])
        tasks = live([served], kills=20, sessions=2, seed=7, said=letter)
    assert [task["error"] for task in tasks if task["status"] != "completed"] == []
    loc = Location.find(store)
    on_record = dict(ledgers(loc))
    assert sorted(on_record) == sorted(row["rollout"] for task in tasks for row in task["result"]["rollouts"])
    assert len(on_record) == len(tasks) == len(evidence.listing(loc, "cases"))
    assert inbox.entries(loc) == []
    assert [f.problems for f in verify(loc, "train/live") if f.problems] == []
    pages = texts(loc, "train/live")
    assert {name: text.count(LESSONS[name]) for name, text in pages.items()} == dict.fromkeys(LESSONS, 1)


def letter(number: int) -> list[dict[str, object]]:
    """Return a session that the scripted model learns from."""
    topic = list(LESSONS)[number % len(LESSONS)]
    words = " ".join(DIGITS[int(digit)] for digit in str(number))
    part = {"type": "tool", "tool_name": topic, "tool_id": "1", "tool_status": "completed"}
    return [
        {"role": "user", "content": f"Letter {words}, about the topic {topic}, order Q{number:04}X."},
        {"role": "assistant", "parts": [part]},
        {"role": "assistant", "content": f"{QUOTE}."},
        {"role": "user", "content": render_outcome(RubricEvaluation(passed=False, score=0.0))},
    ]
