from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.llm_server import Reply
from tests.trainer.asking.questions import GOOD, ask_all, question, settings_of
from trainer.asking.asker import first_request
from trainer.asking.budget import Budget, prompt_tokens, tokens_of
from trainer.asking.chat import ChatReply
from trainer.asking.question import AskError, Usage
from xpstore.settings import LlmSettings

MOST = Budget(LlmSettings()).most(first_request(question("talk 0"), "scripted"))


def test_a_token_is_three_bytes():
    assert [tokens_of(text) for text in ("", "a", "abc", "abcd", "退款", "\ud800")] == [0, 1, 1, 2, 2, 1]


@pytest.mark.parametrize("parallel", [1, 4, 16])
@pytest.mark.parametrize("calls", [0, 1, 5])
def test_tokens_are_never_more_than_the_budget_has(llm_server, parallel, calls):
    """Each reserves what it needs at most; what it did not need is there for those that wait."""
    spent = {"prompt_tokens": MOST.prompt_tokens, "completion_tokens": MOST.completion_tokens}
    llm_server.on("extract", lambda _: Reply('{"lesson": "x", "confidence": 1}', usage=spent))
    each = MOST.prompt_tokens + MOST.completion_tokens
    limit = calls * each + each // 2
    limited = settings_of(llm_server, parallel=parallel, max_tokens_per_run=limit)
    results, budget = ask_all(limited, [question(f"talk {n}") for n in range(9)])
    assert budget.total.prompt_tokens + budget.total.completion_tokens == calls * each
    assert sum(isinstance(r, AskError) for r in results) == 9 - calls
    assert [isinstance(r, AskError) for r in results] == [n >= calls for n in range(9)], "in order of asking"
    assert budget.faults == ({("extract", "budget"): 9 - calls})
    assert llm_server.most_at_once <= parallel


def test_what_was_not_needed_is_there_for_those_that_wait(llm_server):
    llm_server.on("extract", GOOD)
    each = MOST.prompt_tokens + MOST.completion_tokens
    limited = settings_of(llm_server, parallel=8, max_tokens_per_run=2 * each)
    results, budget = ask_all(limited, [question(f"talk {n}") for n in range(4)])
    used = budget.total.prompt_tokens + budget.total.completion_tokens
    assert used <= 2 * each
    answered = sum(not isinstance(r, AskError) for r in results)
    assert answered >= 3, "reserved for two at most, used by three at least"


def test_money_is_counted_in_the_prices_of_the_settings(llm_server):
    usage = {"prompt_tokens": MOST.prompt_tokens, "completion_tokens": MOST.completion_tokens}
    llm_server.on("extract", lambda _: Reply('{"lesson": "x", "confidence": 1}', usage=usage))
    priced = settings_of(llm_server, prompt_price=2.0, completion_price=10.0)
    each = Budget(priced).cost(MOST.prompt_tokens, MOST.completion_tokens)
    assert each == (MOST.prompt_tokens * 2 + MOST.completion_tokens * 10) / 1e6
    priced = replace(priced, max_cost_per_run=2.5 * each)
    results, budget = ask_all(priced, [question(f"talk {n}") for n in range(4)])
    assert budget.total.cost == pytest.approx(2 * each)
    failed = [r for r in results if isinstance(r, AskError)]
    assert {r.fault for r in failed} == {"budget"}
    assert failed[0].message == (
        f"the run's budget is not enough for this question: {2 * each:.4f} of {2.5 * each:.4f} is used"
    )


def test_a_repair_is_paid_for_too(llm_server):
    llm_server.on("extract", "no")
    limited = settings_of(llm_server, max_tokens_per_run=MOST.prompt_tokens + MOST.completion_tokens)
    (result,), budget = ask_all(limited, [question("talk 0")])
    assert (result.fault, result.usage) == ("budget", budget.total)
    assert budget.total.calls == 1


@pytest.mark.parametrize(
    "usage",
    [{}, {"prompt_tokens": None}, {"prompt_tokens": -5, "completion_tokens": True}, {"prompt_tokens": "9"}],
)
def test_an_endpoint_that_does_not_count_is_counted_for(llm_server, usage):
    llm_server.on("extract", lambda _: Reply('{"lesson": "x", "confidence": 1}', usage=usage))
    (result,), _ = ask_all(settings_of(llm_server), [question("talk 0")])
    assert (result.usage.prompt_tokens, result.usage.completion_tokens) == (MOST.prompt_tokens, 11)


def test_no_limit_is_no_limit():
    budget = Budget(LlmSettings())

    async def run() -> None:
        async with budget.call(Usage(calls=1, prompt_tokens=10**9, completion_tokens=10**9, cost=1e9)):
            pass

    asyncio.run(run())
    assert budget.total == Usage()


def test_askers_in_several_threads_share_a_budget(llm_server):
    llm_server.on("extract", GOOD)
    shared = settings_of(llm_server, parallel=2)
    budget = Budget(shared)

    def one(name: int) -> None:
        ask_all(shared, [question(f"{name} {n}") for n in range(4)], budget=budget)

    threads = [threading.Thread(target=one, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert budget.total.calls == 12
    assert llm_server.most_at_once <= 2


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(0, 3), st.booleans()), max_size=12), st.integers(1, 4)
)
def test_whoever_gives_up_leaves_the_budget_as_it_was(calls, parallel):
    """Calls that wait, are cancelled at any moment or run: nothing is lost and nobody waits for ever."""

    async def run() -> None:
        budget = Budget(LlmSettings(parallel=parallel, max_tokens_per_run=100))

        async def call(tokens: int, turns: int) -> None:
            async with budget.call(Usage(calls=1, prompt_tokens=tokens)):
                for _ in range(turns):
                    await asyncio.sleep(0)

        tasks = []
        for tokens, turns, is_cancelled in calls:
            tasks.append(asyncio.create_task(call(tokens, turns)))
            for _ in range(turns):
                await asyncio.sleep(0)
            if is_cancelled:
                tasks[-1].cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(r is None or isinstance(r, asyncio.CancelledError) for r in done)
        async with budget.call(Usage(calls=1, prompt_tokens=100)):
            pass

    asyncio.run(run())


def test_tools_and_their_results_count():
    request = first_request(question(), "m")
    assert prompt_tokens(request) > sum(tokens_of(m.content) for m in request.messages)
    reply = ChatReply(text="abc", refusal="abc")
    assert Budget(LlmSettings()).usage_of(request, reply).completion_tokens == 2


@pytest.mark.parametrize(("told", "counted"), [(300, 300), (20_000, 20_000), (0, 2), (10**12, 2)])
def test_a_count_that_no_text_explains_is_estimated(told, counted):
    request = first_request(question(), "m")
    reply = ChatReply(text="abcdef", prompt_tokens=told, completion_tokens=told)
    used = Budget(LlmSettings()).usage_of(request, reply)
    assert used.completion_tokens == counted
    assert used.prompt_tokens == (prompt_tokens(request) if counted == 2 else told)
