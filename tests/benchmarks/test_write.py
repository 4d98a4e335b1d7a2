from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

import pytest

from tests.benchmarks import floors
from tests.benchmarks.timing import cpu, interleave, medians, table
from tests.benchmarks.worlds import World
from tests.builders import git, identify
from xpstore import guards, publish, record
from xpstore.commit import commit
from xpstore.plan import PolicyUpdatePlan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from xpstore.git import Move, Repo
    from xpstore.objects import GitObject

SIZES = (10, 1_000, 10_000)
GROUP = 16


class Recorder:
    """Keeps the objects of the last group that was published, for the floors to write again."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.objects: Sequence[GitObject] = ()
        self._publish = publish.publish
        monkeypatch.setattr(publish, "publish", self)

    def __call__(self, repo: Repo, objects: Sequence[GitObject], moves: Sequence[Move]) -> bool:
        self.objects = objects
        return self._publish(repo, objects, moves)


@contextmanager
def others(world: World, folder: Path, *, durable: bool) -> Iterator[dict[str, Callable[[], object]]]:
    """Yield the other programs that are installed, each with a clone of the experiences of its own."""
    found: dict[str, Callable[[], object]] = {}
    texts = {f"experiences/{name}.md": world.texts[name] for name in world.names[:4]}
    with ExitStack() as stack:
        for name, kind in (
            ("git plumbing", floors.plumbing),
            ("GitPython", floors.gitpython),
            ("dulwich", floors.dulwich),
        ):
            clone = folder / name.replace(" ", "-")
            git(folder, "clone", "-q", "--no-local", "-b", "main", str(world.loc.repo.place), str(clone))
            identify(clone)
            writer = stack.enter_context(kind(clone, durable=durable))
            if writer:
                found[f"{name}, 1 commit"] = partial(_commit, writer, texts, count())
        yield found


def _commit(writer: floors.Writer, texts: floors.Texts, numbers: Iterator[int]) -> None:
    number = next(numbers)
    writer({path: f"{text}- Changed {number}.\n" for path, text in texts.items()})


def measure(
    world: World, folder: Path, recorder: Recorder, rounds: int, *, durable: bool
) -> dict[str, tuple[float, ...]]:
    loose, packed = (floors.Floor(folder / name, durable=durable) for name in ("loose", "packed"))
    plan, copy = world.plan(), world.plan()
    commit(world.loc, [plan, copy], "main")

    def prepare() -> None:
        # a plan keeps what it has computed, so checks and rendering get a copy that has computed nothing
        nonlocal plan, copy, objects
        objects = recorder.objects
        plan = world.plan()
        copy = PolicyUpdatePlan.model_validate(plan.model_dump())

    def ours() -> None:
        assert commit(world.loc, [plan], "main")[0].state == "applied"

    def render() -> None:
        record.evidence_files(copy)
        record.to_commit_message(copy)

    objects = recorder.objects
    with others(world, folder, durable=durable) as programs:
        methods: dict[str, Callable[[], object]] = {
            "floor: loose files": lambda: loose.loose(objects),
            "floor: one pack": lambda: packed.packed(objects),
            "plan, from values to refs": ours,
            "  checking it, apart": lambda: guards.check_plan(copy, world.loc.config),
            "  rendering it, apart": render,
            **programs,
        }
        found = medians(
            interleave(methods, rounds, warm=2, prepare=prepare, clock=time.perf_counter if durable else cpu)
        )
    apart = found["  checking it, apart"] + found["  rendering it, apart"]
    found["plan, checked and rendered"] = found["plan, from values to refs"] - apart
    return {n: (v, v / found["floor: loose files"], v / found["floor: one pack"]) for n, v in found.items()}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("place", ["memory", "disk"])
def test_one_plan(
    size: int, place: str, *, full: bool, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder: Path = request.getfixturevalue(place)
    durable = place == "disk"
    world = World(folder / "store", size, 5_000 if full else 500)
    rows = measure(
        world, folder, Recorder(monkeypatch), (40 if size < 10_000 else 20) if full else 10, durable=durable
    )
    title = f"1 plan, {size} experiences, {'durable on disk' if durable else 'CPU'}"
    table(title, ("ms", "of loose floor", "of pack floor"), rows)


def test_a_group_shares_the_sync(*, full: bool, memory: Path, disk: Path) -> None:
    past, rounds = (5_000, 20) if full else (500, 8)
    singly, grouped, durable = (
        World(path / "store", 1_000, past) for path in (memory / "1", memory / "2", disk)
    )
    sync = floors.Floor(disk / "sync", durable=True)
    plans: dict[str, list[PolicyUpdatePlan]] = {}

    def prepare() -> None:
        plans["one by one"] = singly.plans(GROUP)
        plans["grouped"] = grouped.plans(GROUP)
        plans["durable"] = durable.plans(GROUP)

    def one_by_one() -> None:
        for plan in plans["one by one"]:
            commit(singly.loc, [plan], "main")

    found = medians(
        interleave(
            {
                "one by one, CPU": one_by_one,
                "in a group, CPU": lambda: commit(grouped.loc, plans["grouped"], "main"),
                "in a group, durable": lambda: commit(durable.loc, plans["durable"], "main"),
                "one sync": lambda: sync.packed([]),
            },
            rounds,
            prepare=prepare,
        )
    )
    floor = found["one by one, CPU"] + found["one sync"]
    rows = {name: (ms, ms / GROUP, ms / floor) for name, ms in found.items()}
    table(f"{GROUP} plans, 1000 experiences", ("ms", "ms per plan", "of CPU + sync"), rows)
