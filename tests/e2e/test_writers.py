"""Many processes write to one branch while git prunes and a person works: nothing lost, doubled or broken."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.builders import delete, fsck, git, make_plan, make_store, page, texts, upsert
from tests.churn import cleaner, person
from tests.crowd import Member, Row, meanwhile, run
from xpstore.commit import commit
from xpstore.errors import ConflictError
from xpstore.kept import keep_all, waiting
from xpstore.location import Location
from xpstore.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from xpstore.plan import PolicyPlanItem

PAGES = 4
"""Pages that several writers share."""
TRIES = 400
"""How often a writer plans again: that it is fair is not what is tried here."""


def own(store: Path, branch: str, name: str, count: int) -> Member:
    """A new page with every plan."""

    def work(ready: Callable[[], None], report: Callable[..., None]) -> None:
        loc = Location.find(store)
        ready()
        for number in range(count):
            item = upsert(f"{name}-{number}", page(f"{name}-{number}"))
            teach(loc, branch, lambda item=item: item, report)

    return work


def editor(store: Path, branch: str, name: str, count: int) -> Member:
    """One more statement on its own page with every plan."""

    def work(ready: Callable[[], None], report: Callable[..., None]) -> None:
        loc = Location.find(store)
        ready()
        text = None
        for number in range(count):
            new = f"{text}- {name} {number}.\n" if text else page(name)
            item = upsert(name, new, text)
            teach(loc, branch, lambda item=item: item, report)
            text = new

    return work


def sharer(store: Path, branch: str, name: str, count: int) -> Member:
    """One more statement on a page of all with every plan."""

    def work(ready: Callable[[], None], report: Callable[..., None]) -> None:
        loc = Location.find(store)
        ready()
        for number in range(count):
            target, line = f"shared-{number % PAGES}", f"- {name} {number}.\n"

            def item(target: str = target, line: str = line) -> PolicyPlanItem:
                there = texts(loc, branch)[target]
                return upsert(target, there + line, there)

            teach(loc, branch, item, report, line=line, page=target)

    return work


def teach(
    loc: Location, branch: str, item: Callable[[], PolicyPlanItem], report: Callable[..., None], **told: str
) -> None:
    """Plan and commit, and plan again where somebody was faster."""
    start = time.perf_counter()
    for _ in range(TRIES):
        change = item()
        plan = make_plan(loc, change, branch=branch, rollouts=())
        try:
            [landed] = commit(loc, [plan], branch)
        except ConflictError:
            continue
        took = time.perf_counter() - start
        report(plan=plan.plan_id, commit=landed.commit, state=landed.state, at=start, took=took, **told)
        return
    raise AssertionError(f"never landed: {plan.subject}")


def make(path: Path, branch: str) -> Location:
    loc = make_store(path)
    shared = [upsert(f"shared-{number}", page(f"shared-{number}")) for number in range(PAGES)]
    commit(loc, [make_plan(loc, *shared, branch=branch, rollouts=())], branch)
    return loc


def check(store: Path, branch: str, told: dict[str, list[Row]]) -> None:
    """Every plan that was reported is on the branch, once, with its changes; nothing is broken."""
    fsck(store)
    loc = Location.find(store)
    rows = [row for rows in told.values() for row in rows]
    line = git(store, "rev-list", "--first-parent", branch).split()
    assert [row["commit"] for row in rows if row["commit"] not in line] == []
    ids = Counter(
        git(store, "log", "--first-parent", "--format=%(trailers:key=Plan-Id,valueonly)", branch).split()
    )
    assert {row["plan"]: ids[row["plan"]] for row in rows if ids[row["plan"]] != 1} == {}
    findings = verify(loc, branch)
    assert [f.problems for f in findings if f.problems] == []
    assert {f.state for f in findings} <= {"intact", "carried"}
    pages = texts(loc, branch)
    changed = numbers(store, branch)
    for row in rows:
        if "line" in row:
            assert pages[row["page"]].count(row["line"]) == 1, row
            assert changed[row["commit"]] == [f"1\t0\texperiences/{row['page']}.md"], row
    shared = [text for name, text in pages.items() if name.startswith("shared-")]
    assert sum(text.count("\n- ") for text in shared) == PAGES + sum("line" in row for row in rows)
    assert not list(loc.repo.pack_dir.glob("*.keep"))


def numbers(store: Path, branch: str) -> dict[str, list[str]]:
    """Return, by commit, how many lines of which files it added and took away."""
    out = git(store, "log", "--first-parent", "--format=%x00%H", "--numstat", branch)
    return {block.split()[0]: block.splitlines()[2:] for block in out.split("\0")[1:]}


def check_pages(store: Path, branch: str, changed: dict[str, str]) -> None:
    """Commits changed these pages and no other: `changed` has the page of every commit."""
    files = {c: [row.split("\t")[2] for row in rows] for c, rows in numbers(store, branch).items()}
    assert {c: files[c] for c, name in changed.items() if files[c] != [f"experiences/{name}.md"]} == {}


def check_person(store: Path, diary: Path) -> None:
    """What the person committed is there, and what is not committed is as it was left."""
    numbers = diary.read_text().split()
    assert numbers, "nothing was committed"
    for number in numbers:
        assert git(store, "show", f"main:experiences/pat-{number}.md") == page(f"pat-{number}").rstrip("\n")
    there = git(store, "show", "main:notes.txt").splitlines()
    assert Counter(there) == Counter(dict.fromkeys(there, 1))
    assert {f"note {number}" for number in numbers} <= set(there)
    assert git(store, "log", "--format=%s", "main").split("\n").count(f"Note {numbers[-1]}") == 1
    assert (store / "draft.txt").read_text() == "not yet\n"
    assert not [x for x in git(store, "status", "--short").splitlines() if x[3:] not in own_files(store)]


def own_files(store: Path) -> set[str]:
    """Return the files that are the person's alone."""
    found = {"notes.txt", "draft.txt"}
    return found | {f"experiences/{p.name}" for p in (store / "experiences").glob("pat-*.md")}


def crowd(
    folder: Path, store: Path, branch: str, kinds: dict[str, tuple[object, int]]
) -> dict[str, list[Row]]:
    members = {name: kind(store, branch, name, count) for name, (kind, count) in kinds.items()}
    return run(folder, members)


def together(tmp_path: Path, branch: str, kinds: dict[str, tuple[object, int]]) -> dict[str, list[Row]]:
    """Let all of them write while git prunes and a person works, and check what came of it."""
    store = tmp_path / "s"
    make(store, branch)
    diary = tmp_path / "diary"
    (store / "draft.txt").write_text("not yet\n")
    with meanwhile(cleaner(store), person(store, diary)):
        told = crowd(tmp_path / "told", store, branch, kinds)
    counts = {name: len(rows) for name, rows in told.items()}
    assert counts == {name: count for name, (_, count) in kinds.items()}
    check(store, branch, told)
    check_person(store, diary)
    return told


def test_some_writers_beside_git_and_a_person(tmp_path: Path) -> None:
    together(
        tmp_path, "main", {"a": (own, 5), "b": (own, 5), "c": (sharer, 5), "d": (sharer, 5), "e": (editor, 5)}
    )


@pytest.mark.stress
@pytest.mark.parametrize("branch", ["main", "train/x"])
@pytest.mark.parametrize("kind", [own, sharer])
def test_eight_writers_of_a_hundred_plans(tmp_path: Path, branch: str, kind: object) -> None:
    told = together(tmp_path, branch, {f"w{number}": (kind, 100) for number in range(8)})
    if kind is own:
        changed = {row["commit"]: f"{name}-{n}" for name, rows in told.items() for n, row in enumerate(rows)}
        check_pages(tmp_path / "s", branch, changed)
    assert {row["state"] for rows in told.values() for row in rows} == {"applied"}


@pytest.mark.stress
def test_twenty_four_writers_of_a_file_each(tmp_path: Path) -> None:
    told = together(tmp_path, "main", {f"w{number}": (editor, 10) for number in range(24)})
    check_pages(tmp_path / "s", "main", {row["commit"]: name for name, rows in told.items() for row in rows})
    pages = texts(Location.find(tmp_path / "s"), "main")
    for name in told:
        assert pages[name] == page(name) + "".join(f"- {name} {number}.\n" for number in range(1, 10))


def rival(store: Path, name: str, rounds: int) -> Member:
    """Edits or deletes, round by round, a page as it was before all began; what cannot be is kept."""

    def work(ready: Callable[[], None], report: Callable[..., None]) -> None:
        loc = Location.find(store)
        there = texts(loc, "main")
        plans = []
        for number in range(rounds):
            target = f"rival-{number}"
            is_delete = (number + int(name[1:])) % 2
            item = (
                delete(target, there[target])
                if is_delete
                else upsert(target, page(target, name), there[target])
            )
            plans.append(make_plan(loc, item, rollouts=(), run_id=name))
        ready()
        for plan in plans:
            try:
                [landed] = commit(loc, [plan], "main")
                report(plan=plan.plan_id, commit=landed.commit, state=landed.state)
            except ConflictError as error:
                (branch,) = keep_all(loc, [plan])
                report(plan=plan.plan_id, kept=branch, said=error.message)

    return work


def check_rivals(tmp_path: Path, rivals: int, rounds: int) -> None:
    """Each round one side wins, and every other plan is whole on a branch of its own."""
    store = tmp_path / "s"
    loc = make_store(store)
    names = [f"rival-{number}" for number in range(rounds)]
    commit(loc, [make_plan(loc, *[upsert(n, page(n)) for n in names], rollouts=())], "main")
    with meanwhile(cleaner(store)):
        told = run(tmp_path / "told", {f"r{n}": rival(store, f"r{n}", rounds) for n in range(rivals)})
    rows = [row for rows in told.values() for row in rows]
    assert len(rows) == rivals * rounds
    fsck(store)
    loc = Location.find(store)
    landed = [row for row in rows if "kept" not in row]
    for row in landed:
        git(store, "merge-base", "--is-ancestor", str(row["commit"]), "main")
    kept = {row["kept"]: row for row in rows if "kept" in row}
    assert set(kept) == set(waiting(loc))
    for branch, row in kept.items():
        assert branch == f"xp/conflict/{row['plan']}"
        assert "rival-" in str(row["said"])
        assert {f.state for f in verify(loc, branch)} == {"intact"}
    for number in range(rounds):
        of_round = [rows[number] for rows in told.values()]
        assert any("kept" not in row for row in of_round), of_round
    assert not [f.problems for f in verify(loc, "main") if f.problems]


def test_what_excludes_each_other_is_kept(tmp_path: Path) -> None:
    check_rivals(tmp_path, 3, 2)


@pytest.mark.stress
def test_eight_rivals(tmp_path: Path) -> None:
    check_rivals(tmp_path, 8, 10)


def threads(tmp_path: Path, count: int, plans: int, *, is_shared: bool) -> None:
    """Let threads write and read, with one store for all or one for each."""
    store = tmp_path / "s"
    loc = make(store, "train/x")
    failed: list[BaseException] = []
    told: dict[str, list[Row]] = {f"t{number}": [] for number in range(count)}
    barrier = threading.Barrier(count)

    def work(name: str) -> None:
        mine = loc if is_shared else Location.find(store)
        barrier.wait()
        try:
            for number in range(plans):
                item = upsert(f"{name}-{number}", page(f"{name}-{number}"))
                teach(mine, "train/x", lambda item=item: item, lambda **row: told[name].append(row))
                assert f"{name}-{number}" in texts(mine, "train/x")
        except BaseException as error:  # noqa: BLE001  # a thread has nobody else to tell
            failed.append(error)

    workers = [threading.Thread(target=work, args=[name]) for name in told]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failed == []
    assert {len(rows) for rows in told.values()} == {plans}
    check(store, "train/x", told)


@pytest.mark.parametrize("is_shared", [True, False])
def test_threads(tmp_path: Path, *, is_shared: bool) -> None:
    threads(tmp_path, 3, 3, is_shared=is_shared)


@pytest.mark.stress
@pytest.mark.parametrize("is_shared", [True, False])
def test_eight_threads(tmp_path: Path, *, is_shared: bool) -> None:
    threads(tmp_path, 8, 40, is_shared=is_shared)
