from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.virtual_clock import run
from trainer.batcher import BatchRules, StreamingBatcher
from trainer.errors import BatchError, ClosedError, ComponentError

LAZY = BatchRules(most=8, wait=10.0, when_idle=False)


@dataclass
class Work:
    """What processes the batches: at once, or slowly; it remembers what it was given and when."""

    seconds: float = 0.0
    failures: list[BaseException | None] = field(default_factory=list)
    bad: frozenset[str] = frozenset()
    batches: list[list[str]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    async def __call__(self, items):
        self.batches.append(list(items))
        self.times.append(asyncio.get_running_loop().time())
        await asyncio.sleep(self.seconds)
        failure = self.failures.pop(0) if self.failures else None
        if failure:
            raise failure
        if self.bad & set(items):
            raise ValueError("a bad item")
        return [item.upper() for item in items]


def batcher(work, rules=LAZY, **more):
    return StreamingBatcher(work, rules, **more)


async def started(*works):
    """Return tasks that have begun."""
    tasks = [asyncio.create_task(work) for work in works]
    await asyncio.sleep(0)
    return tasks


def now():
    return asyncio.get_running_loop().time()


def test_as_much_as_one_batch_may_hold_begins_a_batch():
    work = Work()

    async def main():
        one = batcher(work)
        answers = await asyncio.gather(*(one.submit(name, 2) for name in "abcd"))
        return answers, now()

    assert run(main()) == (["A", "B", "C", "D"], 0.0)
    assert work.batches == [["a", "b", "c", "d"]]


def test_a_batch_holds_at_most_the_maximum_and_nobodys_item_is_split():
    work = Work()

    async def main():
        one = batcher(work, BatchRules(most=2, wait=10.0, when_idle=False))
        sizes = {"a": 1, "b": 2, "c": 1, "d": 1, "e": 5, "f": 1}
        return await asyncio.gather(*(one.submit(name, size) for name, size in sizes.items()))

    assert run(main()) == list("ABCDEF")
    assert work.batches == [["a"], ["b"], ["c", "d"], ["e"], ["f"]]


def test_the_oldest_waits_exactly_as_long_as_it_may():
    work = Work()

    async def main():
        one = batcher(work)
        tasks = await started(one.submit("a"))
        await asyncio.sleep(3.25)
        tasks += await started(one.submit("b"))
        await tasks[0]
        assert tasks[1].done()
        await one.submit("c")
        return now()

    assert run(main()) == 20.0
    assert (work.batches, work.times) == ([["a", "b"], ["c"]], [10.0, 20.0])


def test_an_item_without_size_is_answered_at_once():
    work = Work()

    async def main():
        one = batcher(work)
        return await one.submit("a", 0), now()

    assert run(main()) == (None, 0.0)
    assert work.batches == []


def test_where_nothing_else_is_on_its_way_nobody_waits():
    work = Work()

    async def main():
        one = batcher(work, BatchRules())
        first = await asyncio.gather(*(one.submit(name) for name in "ab"))
        with one.place() as place:
            waiting = asyncio.create_task(one.submit("c"))
            await asyncio.sleep(5)
            assert not waiting.done()
            assert await place.submit("d") == "D"
        return first, await waiting, now()

    assert run(main()) == (["A", "B"], "C", 5.0)
    assert work.batches == [["a", "b"], ["c", "d"]]


@pytest.mark.parametrize("leaves", ["empty", "failed", "cancelled"])
def test_who_comes_to_nothing_keeps_nobody_waiting(leaves):
    work = Work()

    async def coming(one):
        with one.place() as place:
            await asyncio.sleep(1)
            if leaves == "failed":
                raise ValueError("no item")
            if leaves == "cancelled":
                await asyncio.Event().wait()
            await place.submit("nothing", 0)

    async def main():
        one = batcher(work, BatchRules())
        late, waiting = await started(coming(one), one.submit("a"))
        await asyncio.sleep(1)
        late.cancel()
        await waiting
        await asyncio.wait([late])
        assert late.cancelled() == (leaves == "cancelled")
        assert (late.cancelled() or late.exception() is None) == (leaves != "failed")
        return now()

    assert run(main()) == 1.0


def test_what_comes_while_a_batch_runs_waits_for_the_next_one():
    work = Work(seconds=30)

    async def main():
        one = batcher(work)
        tasks = await started(*(one.submit(name) for name in "abcdefgh"))
        await asyncio.sleep(1)
        tasks += await started(*(one.submit(name) for name in "ij"))
        return await asyncio.gather(*tasks)

    assert run(main()) == list("ABCDEFGHIJ")
    assert work.times == [0.0, 30.0]  # they had waited more than ten seconds when the first batch ended


def test_a_batch_that_fails_for_a_passing_reason_is_tried_again():
    work = Work(failures=[TimeoutError("busy"), TimeoutError("busy"), None])

    async def main():
        one = batcher(work, BatchRules(), is_transient=lambda e: isinstance(e, TimeoutError))
        return await asyncio.gather(*(one.submit(name) for name in "ab"))

    assert run(main()) == ["A", "B"]
    assert (work.batches, work.times) == ([["a", "b"]] * 3, [0.0, 1.0, 3.0])


def test_a_batch_that_keeps_failing_fails_its_members_and_nobody_else():
    work = Work(failures=[TimeoutError("gone")] * 3)

    async def main():
        one = batcher(work, BatchRules(most=2), is_transient=lambda e: isinstance(e, TimeoutError))
        return await asyncio.gather(*(one.submit(name) for name in "abcd"), return_exceptions=True)

    a, b, c, d = run(main())
    assert (c, d) == ("C", "D")
    assert isinstance(a, BatchError)
    assert isinstance(b, BatchError)
    assert a is not b
    assert a.__cause__ is b.__cause__
    assert a.message == "TimeoutError: gone"
    assert work.batches == [["a", "b"]] * 3 + [["c", "d"]]


def test_an_item_that_makes_every_batch_fail_fails_alone():
    work = Work(bad=frozenset("b"))

    async def main():
        one = batcher(work, BatchRules())
        first = await asyncio.gather(*(one.submit(name) for name in "abc"), return_exceptions=True)
        return first, await one.submit("d")

    (a, b, c), d = run(main())
    assert (a, c, d) == ("A", "C", "D")
    assert str(b) == "ValueError: a bad item"
    assert work.batches == [["a", "b", "c"], ["a"], ["b"], ["c"], ["d"]]


def test_the_hint_of_an_error_is_passed_on():
    work = Work(failures=[ComponentError("no", hint="do this")])

    async def main():
        await batcher(work, BatchRules()).submit("a")

    with pytest.raises(BatchError, match=r"^no$") as caught:
        run(main())
    assert caught.value.hint == "do this"


def test_answers_that_do_not_fit_the_items_are_an_error():
    async def short(items):
        return items[1:]

    async def main():
        one = batcher(short, BatchRules())
        return await asyncio.gather(*(one.submit(name) for name in "ab"), return_exceptions=True)

    assert [str(error) for error in run(main())] == ["a batch of 1 items got 0 answers"] * 2


def test_who_is_cancelled_in_time_is_not_in_the_batch_and_harms_nobody():
    work = Work()

    async def main():
        one = batcher(work)
        first, second, third = await started(*(one.submit(name, 3) for name in "abc"[:2]), one.submit("c"))
        await asyncio.sleep(2)
        first.cancel()
        await asyncio.sleep(1)
        assert await asyncio.gather(second, third) == ["B", "C"]
        assert first.cancelled()
        return now()

    assert run(main()) == 10.0
    assert work.batches == [["b", "c"]]


def test_what_was_cancelled_does_not_count():
    work = Work()

    async def main():
        one = batcher(work)
        (first,) = await started(one.submit("a", 7))
        first.cancel()
        await asyncio.sleep(2)
        await one.submit("b", 1)
        return now()

    assert run(main()) == 12.0
    assert work.batches == [["b"]]


def test_who_is_cancelled_during_the_batch_harms_nobody():
    work = Work(seconds=5, failures=[TimeoutError()])

    async def main():
        one = batcher(work, BatchRules(), is_transient=lambda _: True)
        first, second = await started(*(one.submit(name) for name in "ab"))
        await asyncio.sleep(1)
        first.cancel()
        return await second, first.cancelled()

    assert run(main()) == ("B", True)
    assert work.batches == [["a", "b"], ["b"]]  # tried again for who is still there


def test_where_all_have_gone_nothing_is_tried_again():
    work = Work(seconds=5, failures=[TimeoutError()])

    async def main():
        one = batcher(work, BatchRules(), is_transient=lambda _: True)
        (first,) = await started(one.submit("a"))
        await asyncio.sleep(1)
        first.cancel()
        await one.close()

    run(main())
    assert work.batches == [["a"]]


def test_a_cancellation_inside_of_the_processing_wakes_everybody():
    work = Work(failures=[asyncio.CancelledError()])

    async def main():
        one = batcher(work, BatchRules(most=2))
        return await asyncio.gather(*(one.submit(name) for name in "abc"), return_exceptions=True)

    a, b, c = run(main())
    assert [str(a), str(b)] == ["the batch was cancelled while it was processed"] * 2
    assert isinstance(a, BatchError)
    assert c == "C"


def test_the_end_of_the_program_leaves_nobody_hanging():
    work = Work(seconds=100)

    async def main():
        one = batcher(work, BatchRules(most=1))
        await started(*(one.submit(name) for name in "abc"))

    run(main())  # a hanging task would never let the loop end
    assert work.batches == [["a"]]


def test_closing_processes_what_is_there_and_on_its_way():
    work = Work(seconds=1)

    async def coming(one):
        with one.place() as place:
            await asyncio.sleep(4)
            return await place.submit("c")

    async def main():
        one = batcher(work)
        tasks = await started(one.submit("a"), one.submit("b"), coming(one))
        closers = await started(one.close(), one.close())
        with pytest.raises(ClosedError, match="nothing is taken any more"):
            await one.submit("d")
        await asyncio.gather(*closers)
        assert now() == 5.0
        await one.close()
        return [task.result() for task in tasks]

    assert run(main()) == ["A", "B", "C"]
    assert work.batches == [["a", "b", "c"]]


def test_closing_what_is_empty_takes_no_time():
    async def main():
        await batcher(Work()).close()
        return now()

    assert run(main()) == 0.0


STEP = st.one_of(
    st.tuples(st.just("submit"), st.integers(0, 5)),
    st.tuples(st.just("announce"), st.integers(0, 5)),
    st.tuples(st.just("cancel"), st.integers(0, 9)),
    st.tuples(st.just("wait"), st.integers(1, 15)),
)


FAULTS = {"good": None, "passing": TimeoutError("t"), "bad": ValueError("v")}


async def play(one, steps, sizes):
    """Do these things one after the other, close, and return the tasks of the items."""

    async def announced(name, after):
        with one.place() as place:
            await asyncio.sleep(after)
            return await place.submit(name, sizes[name])

    tasks = []
    for number, (what, value) in enumerate(steps):
        name = f"i{number}"
        sizes[name] = value if what == "submit" else 1
        if what in {"submit", "announce"}:
            work = one.submit(name, value) if what == "submit" else announced(name, value)
            tasks.append(asyncio.create_task(work, name=name))
        elif what == "wait":
            await asyncio.sleep(value)
        elif value < len(tasks):
            tasks[value].cancel()
    await asyncio.sleep(0)  # the last ones take their places
    await one.close()
    await asyncio.sleep(0)
    return tasks


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(STEP, max_size=25),
    seconds=st.sampled_from([0, 3]),
    outcomes=st.lists(st.sampled_from(sorted(FAULTS)), max_size=6),
    idle=st.booleans(),
)
def test_everybody_gets_one_answer_and_no_batch_is_too_big(steps, seconds, outcomes, idle):
    work = Work(seconds=seconds, failures=[FAULTS[o] for o in outcomes])
    sizes: dict[str, int] = {}

    async def main():
        rules = BatchRules(most=4, wait=5, when_idle=idle)
        return await play(batcher(work, rules, is_transient=_passes), steps, sizes)

    for task in run(main()):
        name = task.get_name()
        assert task.done()
        processed = sum(name in batch for batch in work.batches)
        assert processed <= 6  # with others and alone, each with two repetitions
        assert processed == 0 or sizes[name]
        if not task.cancelled() and not isinstance(task.exception(), BatchError):
            assert task.result() == (name.upper() if sizes[name] else None)
    for batch in work.batches:
        assert len(batch) == 1 or sum(sizes[name] for name in batch) <= 4


def _passes(error):
    return isinstance(error, TimeoutError)
