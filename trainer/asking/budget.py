"""What a run may use: calls at the same time, tokens, money. And what it has used, stage by stage.

A call reserves what it may cost at most before it goes out, and gives back the rest when it is answered, so
the limits hold however many calls are under way. The estimate of a prompt errs to the high side.
"""

from __future__ import annotations

from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from trainer.asking.question import AskError, Usage
from trainer.asking.slots import Slots
from trainer.asking.turns import Turns

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from trainer.asking.chat import ChatReply, ChatRequest
    from trainer.asking.question import Fault, Stage
    from xpstore.settings import LlmSettings

BYTES_PER_TOKEN = 3
"""Of UTF-8. English has about 4, JSON and code about 3, one Chinese character 3: high rather than low."""
MESSAGE_TOKENS = 8
"""What a message costs beside its text."""


def tokens_of(text: str) -> int:
    """Return how many tokens a text is, roughly and rather too many: one for 3 bytes of UTF-8."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)


def prompt_tokens(request: ChatRequest) -> int:
    """Return how many tokens a request sends, as `tokens_of` counts."""
    texts = [m.content + "".join(c.name + c.arguments for c in m.tool_calls) for m in request.messages]
    tools = "".join(tool.model_dump_json() for tool in request.tools)
    return sum(map(tokens_of, texts)) + MESSAGE_TOKENS * len(texts) + tokens_of(tools)


BELIEVED = 4
"""A count up to so many times the estimate is believed: no tokenizer makes more of a text than its bytes."""
UNSEEN = 20_000
"""Tokens beyond that which an endpoint may add by itself: a template, tools, thoughts."""


class Budget:
    """The limits of one run. May be shared by askers in several threads."""

    def __init__(self, settings: LlmSettings) -> None:
        self.slots = Slots(settings.parallel, settings.timeout)
        """Of the requests that the calls make."""
        self._settings = settings
        self._turns = Turns(self._decide, self._taken_back)
        self._lock = self._turns.lock
        self._running = 0
        self._reserved = Usage()
        self._used: dict[Stage, Usage] = {}
        self._faults: Counter[tuple[Stage, Fault]] = Counter()
        self._mended: Counter[tuple[Stage, str]] = Counter()

    @property
    def used(self) -> Mapping[Stage, Usage]:
        """What was used so far, by stage."""
        with self._lock:
            return dict(self._used)

    @property
    def total(self) -> Usage:
        """What was used so far."""
        return sum(self.used.values(), Usage())

    @property
    def faults(self) -> Mapping[tuple[Stage, Fault], int]:
        """How many questions of a stage had no answer for this reason."""
        with self._lock:
            return dict(self._faults)

    @property
    def mended(self) -> Mapping[tuple[Stage, str], int]:
        """How often something had to be put right, by stage, and did not fail for it.

        A fault = what was wrong about an answer that was asked for again; `retried` = attempts that failed
        before the endpoint answered; `wrapped` = answers with text around the JSON.
        """
        with self._lock:
            return dict(self._mended)

    def cost(self, prompt: int, completion: int) -> float:
        """Return what so many tokens cost, in the currency of the settings' prices."""
        return (prompt * self._settings.prompt_price + completion * self._settings.completion_price) / 1e6

    def most(self, request: ChatRequest) -> Usage:
        """Return what a request may use at most: its prompt as estimated, and all that may be written."""
        prompt = prompt_tokens(request)
        return self._one_call(prompt, request.max_tokens)

    def _one_call(self, prompt: int, completion: int) -> Usage:
        cost = self.cost(prompt, completion)
        return Usage(calls=1, prompt_tokens=prompt, completion_tokens=completion, cost=cost)

    def add(self, stage: Stage, usage: Usage) -> None:
        """Count what was used."""
        with self._lock:
            self._used[stage] = self._used.get(stage, Usage()) + usage

    def add_fault(self, stage: Stage, fault: Fault) -> None:
        """Count a question without an answer."""
        with self._lock:
            self._faults[stage, fault] += 1

    def add_mended(self, stage: Stage, what: str, count: int = 1) -> None:
        """Count what had to be put right, as `mended` lists it."""
        with self._lock:
            self._mended[stage, what] += count

    def usage_of(self, request: ChatRequest, reply: ChatReply) -> Usage:
        """Return what an answered request has used; estimated where it is not counted, or cannot be."""
        sent = prompt_tokens(request)
        calls = "".join(call.name + call.arguments for call in reply.tool_calls)
        written = tokens_of(reply.text + reply.refusal + calls)
        prompt = _counted(reply.prompt_tokens, sent, 0)
        completion = _counted(reply.completion_tokens, written, request.max_tokens)
        return self._one_call(prompt, completion)

    @asynccontextmanager
    async def call(self, most: Usage) -> AsyncIterator[None]:
        """Wait for a turn for a call that uses so much at most; within it the call may be made.

        Turns come in the order of asking.
        Raises AskError `budget` where what is left is not enough, also after the calls under way are done.
        """
        admitted = await self._turns.wait(most)
        if not admitted:
            raise AskError(
                "budget",
                f"the run's budget is not enough for this question: {self._spent()}",
                hint="raise max_tokens_per_run or max_cost_per_run in [llm] of xp.toml, and run it again",
            )
        try:
            yield
        finally:
            self._release(most)

    def _release(self, most: Usage) -> None:
        with self._lock:
            self._running -= 1
            self._reserved = self._reserved - most if self._running else Usage()
            self._turns.go_on()

    def _taken_back(self, most: Usage, admitted: bool) -> None:  # noqa: FBT001  # what was decided
        if admitted:
            self._release(most)

    def _decide(self, most: Usage) -> bool | None:
        """Return whether a call may be made; None where it has to wait. The lock is held."""
        if self._running >= self._settings.parallel:
            return None
        if self._fits(most):
            self._running += 1
            self._reserved += most
            return True
        return None if self._running else False  # what is under way may need less than it has reserved

    def _fits(self, most: Usage) -> bool:
        used = sum(self._used.values(), self._reserved) + most
        tokens, cost = self._settings.max_tokens_per_run, self._settings.max_cost_per_run
        return (not tokens or used.prompt_tokens + used.completion_tokens <= tokens) and (
            not cost or used.cost <= cost
        )

    def _spent(self) -> str:
        used, tokens = self.total, self._settings.max_tokens_per_run
        spent = f"{used.cost:.4f} of {self._settings.max_cost_per_run:.4f} is used"
        return (
            f"{used.prompt_tokens + used.completion_tokens} of {tokens} tokens are used" if tokens else spent
        )


def _counted(told: int, estimated: int, allowed: int) -> int:
    """Return an endpoint's count where it can be believed: one absurd count must not end a run."""
    return told if 0 < told <= BELIEVED * max(estimated, allowed) + UNSEEN else estimated
