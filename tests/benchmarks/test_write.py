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
from xpstore.commit import apply, commit, prepare
from xpstore.plan import PolicyUpdatePlan
from xpstore.redact import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from xpstore.git import Move, Repo
    from xpstore.objects import GitObject
    from xpstore.record import Rendered

SIZES = (10, 1_000, 10_000)
GROUP = 16
OURS = "plan, from values to refs"


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
def others(world: World, folder: Path, *, durable: bool) -> Iterator[dict[str, Callable[[], object] | None]]:
    """Yield the other programs, each with a clone of the experiences of its own; None: not installed."""
    found: dict[str, Callable[[], object] | None] = {}
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
            found[f"{name}, 1 commit"] = partial(_commit, writer, texts, count()) if writer else None
        yield found


def _commit(writer: floors.Writer, texts: floors.Texts, numbers: Iterator[int]) -> None:
    number = next(numbers)
    writer({path: f"{text}- Changed {number}.\n" for path, text in texts.items()})


def measure(
    world: World, folder: Path, recorder: Recorder, rounds: int, *, durable: bool
) -> dict[str, tuple[float, ...]]:
    loose, packed = (floors.Floor(folder / name, durable=durable) for name in ("loose", "packed"))
    text, copy = "", world.plan()
    commit(world.loc, [copy], "main")
    objects: Sequence[GitObject] = ()
    values: list[Rendered] = []

    def renew() -> None:
        nonlocal objects, values, text, copy
        objects = recorder.objects
        plan = world.plan()
        text = plan.model_dump_json()
        # a plan keeps what it has computed, so what is timed apart gets a copy that has computed nothing
        copy = PolicyUpdatePlan.model_validate_json(text)
        values = prepare(world.loc, [plan])

    def ours() -> None:
        assert apply(world.loc, values, "main")[0].state == "applied"

    with others(world, folder, durable=durable) as programs:
        methods: dict[str, Callable[[], object]] = {
            "floor: loose files": lambda: loose.loose(objects),
            "floor: one pack": lambda: packed.packed(objects),
            OURS: ours,
            "  parsing it, apart": lambda: PolicyUpdatePlan.model_validate_json(text),
            "  checking it, apart": lambda: guards.check_plan(copy, world.loc.config),
            "  redacting it, apart": lambda: Redactor().redact_json(copy.model_dump(mode="json")),
            "  rendering it, apart": lambda: record.render(copy),
            **{name: program for name, program in programs.items() if program},
        }
        found = medians(
            interleave(methods, rounds, warm=2, prepare=renew, clock=time.perf_counter if durable else cpu)
        )
    rows = {n: (v, v / found["floor: loose files"], v / found["floor: one pack"]) for n, v in found.items()}
    return {
        **rows,
        **{name: ("skipped: not installed",) for name, program in programs.items() if not program},
    }


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
    values: dict[str, list[Rendered]] = {}

    def renew() -> None:
        for name, world in (("one by one", singly), ("grouped", grouped), ("durable", durable)):
            values[name] = prepare(world.loc, world.plans(GROUP))

    def one_by_one() -> None:
        for plan in values["one by one"]:
            apply(singly.loc, [plan], "main")

    found = medians(
        interleave(
            {
                "one by one, CPU": one_by_one,
                "in a group, CPU": lambda: apply(grouped.loc, values["grouped"], "main"),
                "in a group, durable": lambda: apply(durable.loc, values["durable"], "main"),
                "one sync": lambda: sync.packed([]),
            },
            rounds,
            prepare=renew,
        )
    )
    floor = found["one by one, CPU"] + found["one sync"]
    rows = {name: (ms, ms / GROUP, ms / floor) for name, ms in found.items()}
    table(f"{GROUP} plans, 1000 experiences", ("ms", "ms per plan", "of CPU + sync"), rows)
