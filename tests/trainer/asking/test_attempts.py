"""Attempts against endpoints of which each is a few lines, in a time that nobody has to wait for."""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter
from dataclasses import dataclass, field
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import virtual_clock
from trainer.asking import attempts
from trainer.asking.attempts import AttemptError, Attempts
from trainer.asking.chat import ChatError
from trainer.asking.slots import SAFE, Slots
from xpstore.settings import LlmSettings

LIMIT = 60.0
"""Seconds that a request may take."""


@dataclass
class Endpoint:
    """Takes `seconds` for an answer, so many side by side; where it has no room, others wait in line."""

    seconds: float
    side_by_side: int = 1_000
    works_on: bool = False
    """Whether it goes on with what nobody waits for any more."""
    most: int = 1_000
    """With more requests than that it answers 429."""
    hangs: frozenset[int] = frozenset()
    """Requests, by number, that are never answered."""
    asked: int = 0
    is_dead: bool = False
    greeted: int = 0
    open: int = 0
    timed_out: int = 0
    at_once: list[int] = field(default_factory=list)
    _room: asyncio.Semaphore | None = None

    async def request(self, number: int) -> int:
        self.asked += 1
        if self.open >= self.most:
            raise AttemptError("http", "answered 429", status=429)
        self.open += 1
        self.at_once.append(self.open)
        self._room = self._room or asyncio.Semaphore(self.side_by_side)
        work = asyncio.create_task(self._work(number))
        try:
            async with asyncio.timeout(LIMIT):
                await (asyncio.shield(work) if self.works_on else work)
        except TimeoutError:
            self.timed_out += 1
            raise AttemptError("timeout", "did not answer") from None
        finally:
            self.open -= 1
        return number

    async def greet(self) -> None:
        """Answer at once, unless it answers nothing at all."""
        self.greeted += 1
        if self.is_dead:
            await asyncio.sleep(LIMIT)
            raise AttemptError("timeout", "did not answer")

    async def _work(self, number: int) -> None:
        if number in self.hangs or self.is_dead:
            await asyncio.Event().wait()
        async with self._room:
            await asyncio.sleep(self.seconds)


def run(endpoint: Endpoint, requests: int, parallel: int = 16, retries: int = 2):
    """Make requests, as many at once as a run has questions open; return results, slots and seconds."""
    random.seed(7)  # pauses have chance in them, and what is counted hangs on it
    given_settings = LlmSettings(parallel=parallel, retries=retries, timeout=LIMIT)
    slots = Slots(parallel, LIMIT)

    async def all_of_them() -> tuple[list, float]:
        tries, gate = Attempts(given_settings, slots, endpoint.greet), asyncio.Semaphore(parallel)

        async def one(number: int) -> object:
            async with gate:
                return (await tries.until_answered(lambda: endpoint.request(number)))[0]

        results = await asyncio.gather(*map(one, range(requests)), return_exceptions=True)
        return results, asyncio.get_running_loop().time()

    results, seconds = virtual_clock.run(all_of_them())
    return results, slots, seconds


SLOW = [(s, works_on) for s in (1, 3, 6, 10, 25) for works_on in (False, True)]


@pytest.mark.parametrize(("seconds", "works_on"), [*SLOW, (40, False), (55, False)])
def test_a_server_that_answers_one_at_a_time_loses_nothing_and_waits_for_little(seconds, works_on):
    """All 16 at once would wait longer than they may from 4 seconds on."""
    endpoint = Endpoint(seconds, side_by_side=1, works_on=works_on)
    results, slots, took = run(endpoint, 100)
    assert results == list(range(100))
    assert endpoint.timed_out <= 20
    assert (slots.fewest is None) == (endpoint.timed_out == 0)
    assert slots.limit * seconds <= 1.25 * LIMIT
    assert took <= 1.25 * 100 * seconds


@pytest.mark.parametrize("parallel", [1, 4, 16, 64])
def test_a_server_with_room_is_sent_all_that_it_may_be(parallel):
    endpoint = Endpoint(1)
    results, slots, took = run(endpoint, 10 * parallel, parallel)
    assert results == list(range(10 * parallel))
    assert (max(endpoint.at_once), endpoint.timed_out, slots.fewest) == (parallel, 0, None)
    rounds_to_climb = max(0, (parallel - 1).bit_length() - 3)
    assert took <= 10 + rounds_to_climb


@pytest.mark.parametrize("seconds", [1, 20, 40])
def test_a_server_that_thinks_long_about_many_is_not_taken_for_one_with_a_line(seconds):
    endpoint = Endpoint(seconds, hangs=frozenset({3, 500}))
    results, _, took = run(endpoint, 1_000)
    assert [n for n, r in enumerate(results) if isinstance(r, ChatError)] == [3, 500]
    assert took <= 1.5 * 1_000 * seconds / 16 + 6 * LIMIT
    assert max(endpoint.at_once) == min(16, int(SAFE * LIMIT * 16 / seconds))


def test_questions_that_hang_while_others_are_answered_slow_nobody_down():
    hangs = frozenset({3, 200, 900})
    endpoint = Endpoint(5, hangs=hangs)
    results, slots, took = run(endpoint, 2_000)
    assert {n for n, r in enumerate(results) if isinstance(r, ChatError)} == hangs
    assert all("(3 attempts)" in results[n].message for n in hangs)
    assert slots.fewest is None
    assert took <= 1.25 * 2_000 * 5 / 16


def test_an_endpoint_that_answers_nothing_is_given_up_soon():
    endpoint = Endpoint(1, is_dead=True)
    results, _, took = run(endpoint, 1_000)
    assert {r.fault for r in results} == {"timeout"}
    assert took <= 10 * LIMIT, "and not a thousand times that"
    assert endpoint.asked <= 25


@pytest.mark.parametrize("parallel", [1, 16])
def test_questions_that_cannot_be_answered_are_not_taken_for_an_endpoint_that_is_gone(parallel):
    """Also where there is nothing else to ask: it answers a greeting, and what comes later."""
    hangs = frozenset(range(6))
    endpoint = Endpoint(1, hangs=hangs)
    results, _, _ = run(endpoint, 12, parallel=parallel, retries=10)
    assert {n for n, r in enumerate(results) if isinstance(r, ChatError)} == hangs
    assert endpoint.greeted > 0
    assert all("(11 attempts)" in results[n].message for n in hangs) or parallel > 1


def test_an_endpoint_that_was_gone_is_found_again():
    """Who runs for days need not be started again."""
    endpoint = Endpoint(1, is_dead=True)

    async def days() -> list:
        tries = Attempts(LlmSettings(parallel=1, retries=3, timeout=LIMIT), Slots(1, LIMIT), endpoint.greet)

        async def ask() -> object:
            try:
                return (await tries.until_answered(lambda: endpoint.request(1)))[0]
            except ChatError as error:
                return error.fault

        found = [await ask(), await ask()]
        asked = endpoint.asked
        endpoint.is_dead = False
        found.append(await ask())
        assert endpoint.asked == asked, "it is left alone"
        await asyncio.sleep(attempts.REST)
        return [*found, await ask(), await ask()]

    assert virtual_clock.run(days()) == ["timeout", "timeout", "timeout", 1, 1]
    assert endpoint.greeted == 2


@pytest.mark.parametrize("most", [1, 3, 4, 9])
def test_an_endpoint_that_turns_away_what_is_too_much_is_sent_less(most):
    endpoint = Endpoint(5, most=most)
    results, slots, _ = run(endpoint, 100)
    assert results == list(range(100))
    assert endpoint.asked <= 130
    assert slots.fewest is not None


@dataclass
class Quota:
    """Takes so many requests in each window of time, and turns the others away."""

    count: int
    window: float
    says_when: bool
    asked: int = 0
    greeted: int = 0
    _taken: Counter = field(default_factory=Counter)

    async def request(self, number: int) -> int:
        now = asyncio.get_running_loop().time()
        at = now // self.window
        self.asked += 1
        self._taken[at] += 1
        if self._taken[at] > self.count:
            wait = float(math.ceil((at + 1) * self.window - now)) if self.says_when else None
            raise AttemptError("http", "answered 429", status=429, wait=wait)
        await asyncio.sleep(1)
        return number

    async def greet(self) -> None:
        self.greeted += 1
        await self.request(-1)


@pytest.mark.parametrize("says_when", [True, False])
@pytest.mark.parametrize(("count", "window"), [(1, 1), (2, 1), (20, 5), (3, 20), (1, 20), (10, 60), (60, 60)])
def test_a_quota_loses_nothing_and_is_used(count, window, says_when):
    endpoint = Quota(count, window, says_when)
    results, _, took = run(endpoint, 100)
    assert results == list(range(100))
    assert endpoint.asked <= (250 if says_when else 320)
    assert took <= 1.5 * (100 / count * (window if says_when else 60) + 60)


@pytest.mark.parametrize("parallel", [1, 16])
@pytest.mark.parametrize(("chance", "lost", "seconds"), [(0.05, 0, 250), (0.1, 0, 500), (0.2, 3, 1_500)])
def test_an_endpoint_that_turns_away_by_chance_is_not_given_up(chance, lost, seconds, parallel):
    """So do those that many people share. `seconds` are beside those of the answers."""
    dice, endpoint = random.Random(7), Endpoint(1)  # noqa: S311

    async def request(number: int) -> int:
        if dice.random() < chance:
            raise AttemptError("http", "answered 429", status=429)
        return await Endpoint.request(endpoint, number)

    endpoint.request = request
    endpoint.greet = partial(request, -1)
    results, _, took = run(endpoint, 300, parallel)
    assert sum(isinstance(r, ChatError) for r in results) <= lost
    assert took <= 300 / parallel + seconds


@pytest.mark.parametrize("says_when", [True, False])
@pytest.mark.parametrize("parallel", [1, 16])
def test_an_endpoint_that_turns_everybody_away_is_given_up_soon(says_when, parallel):
    endpoint = Quota(0, 60, says_when)
    results, _, took = run(endpoint, 1_000, parallel)
    assert {r.message.partition(" (")[0] for r in results} == {"answered 429"}
    assert endpoint.asked <= 30
    assert took <= 7 * 60


@pytest.mark.parametrize("parallel", [1, 16])
def test_one_question_that_is_too_much_for_a_quota_is_its_own_failure(parallel):
    endpoint = Endpoint(1)

    async def request(number: int) -> int:
        if number == 3:
            raise AttemptError("http", "answered 429: too large", status=429, wait=2.0)
        return await Endpoint.request(endpoint, number)

    endpoint.request = request
    results, _, _ = run(endpoint, 300, parallel)
    assert [n for n, r in enumerate(results) if isinstance(r, ChatError)] == [3]


def test_an_endpoint_that_asks_for_hours_is_asked_once_by_those_under_way():
    asked = []

    async def request() -> None:
        asked.append(1)
        raise AttemptError("http", "answered 429", status=429, wait=3_600.0)

    async def all_of_them() -> list:
        tries = Attempts(LlmSettings(parallel=4), Slots(4, LIMIT))
        return await asyncio.gather(
            *(tries.until_answered(request) for _ in range(50)), return_exceptions=True
        )

    assert {r.hint for r in virtual_clock.run(all_of_them())} == {
        "it asks to wait for 3600 s; run it again then"
    }
    assert len(asked) <= 4


def test_nobody_comes_before_the_time_that_the_endpoint_says():
    came = []

    async def request(number: int) -> None:
        came.append(asyncio.get_running_loop().time())
        if number == 0 and len(came) == 1:
            raise AttemptError("http", "answered 503", status=503, wait=30.0)

    async def all_of_them() -> None:
        tries = Attempts(LlmSettings(parallel=1), Slots(1, LIMIT))
        await asyncio.gather(*(tries.until_answered(partial(request, n)) for n in range(5)))

    virtual_clock.run(all_of_them())
    assert came[0] == 0
    assert min(came[1:]) >= 30


def test_who_is_cancelled_while_it_greets_leaves_the_greeting_to_the_next():
    endpoint = Endpoint(1, is_dead=True)

    async def days() -> int:
        tries = Attempts(LlmSettings(parallel=1, timeout=LIMIT), Slots(1, LIMIT), endpoint.greet)
        ask = partial(tries.until_answered, partial(endpoint.request, 1))
        with pytest.raises(ChatError):
            await ask()
        await asyncio.sleep(attempts.REST)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(ask(), LIMIT / 2)
        endpoint.is_dead = False
        return (await ask())[0]

    assert virtual_clock.run(days()) == 1


ENDS = {
    "answer": None,
    "late": AttemptError("timeout", "did not answer"),
    "full": AttemptError("http", "answered 429", status=429),
    "later": AttemptError("http", "answered 429", status=429, wait=7.0),
    "down": AttemptError("http", "answered 503", status=503, wait=3.0),
    "broken": AttemptError("connection", "was reset"),
    "wrong": AttemptError("http", "answered 400", status=400, final=True),
}


@settings(max_examples=40, deadline=None)
@given(st.data(), st.integers(1, 5), st.integers(1, 14))
def test_whatever_comes_and_whoever_goes_everybody_ends_and_no_slot_is_lost(data, most, count):
    ends = data.draw(st.lists(st.sampled_from(list(ENDS)), max_size=60))
    gone = data.draw(st.lists(st.tuples(st.floats(0, 300), st.integers(0, count - 1)), max_size=6))
    slots, at_once, open_now = Slots(most, LIMIT), [], 0

    async def request() -> int:
        nonlocal open_now
        end = ends.pop() if ends else "answer"
        open_now += 1
        at_once.append(open_now)
        try:
            await asyncio.sleep(LIMIT if end == "late" else 2)
        finally:
            open_now -= 1
        if ENDS[end]:
            raise ENDS[end]
        return 1

    async def all_of_them() -> list:
        tries = Attempts(LlmSettings(parallel=most, timeout=LIMIT), slots, request)
        loop = asyncio.get_running_loop()
        tasks = [asyncio.create_task(tries.until_answered(request)) for _ in range(count)]
        for when, who in gone:
            loop.call_at(when, tasks[who].cancel)
        results = await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(attempts.REST)
        return [*results, *await asyncio.gather(*(tries.until_answered(request) for _ in range(most)))]

    results = virtual_clock.run(asyncio.wait_for(all_of_them(), 1e6))
    kinds = (tuple, ChatError, asyncio.CancelledError)
    assert all(isinstance(result, kinds) for result in results)
    assert sum(isinstance(r, asyncio.CancelledError) for r in results) <= len({who for _, who in gone})
    assert max(at_once) <= most
    assert 1 <= slots.limit <= most
    assert not slots._under_way


def test_what_fails_for_another_reason_lowers_nothing():
    slots = Slots(4, LIMIT)

    async def fail() -> None:
        raise AttemptError("http", "answered 500", status=500, wait=0.0)

    async def both() -> list:
        tries = Attempts(LlmSettings(parallel=4, retries=1), slots)
        return await asyncio.gather(*(tries.until_answered(fail) for _ in range(3)), return_exceptions=True)

    results = virtual_clock.run(both())
    assert [r.message for r in results] == ["answered 500 (2 attempts)"] * 3
    assert (slots.limit, slots.fewest) == (4, None)
