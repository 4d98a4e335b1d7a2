"""LLMResolver: a model decides what both sides of a merge changed. Its answer is checked by the store."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field

from trainer.asking.prompts import prompt
from trainer.asking.question import AskError, Question
from trainer.asking.quoting import Quoting
from trainer.llm_learner.claims import (
    MOST,
    Fate,
    Wording,
    as_item,
    is_plain,
    learner_name,
    shown,
    wording_problems,
)
from trainer.llm_learner.room import CONTEXT, fits
from xpstore.model import Frozen
from xpstore.resolver import Declined, Resolution

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractAsyncContextManager

    from trainer.asking.question import Answer, Asker
    from xpstore.conflict import Hunk, Numbered

_HUNKS, _STATEMENTS = 50, 1_000


class DecidedHunk(Frozen):
    """What stands in the place of a hunk."""

    wordings: tuple[Wording, ...] = Field(max_length=99)
    stands: tuple[Annotated[int, Field(ge=1, le=MOST)], ...] = Field(max_length=_STATEMENTS)
    """Numbers of statements and wordings, in their order on the page."""


class Decision(Frozen):
    """The answer about all hunks of a page."""

    unclear: str = Field(default="", max_length=240)
    """Why a person has to decide; empty where this is the decision."""
    hunks: tuple[DecidedHunk, ...] = Field(max_length=_HUNKS)
    account: tuple[Fate, ...] = Field(max_length=_STATEMENTS)


@dataclass(frozen=True)
class LLMResolver:
    """xpstore's Resolver: what cannot be asked or answered is declined, so that a person decides.

    Raises AskError `replay` where a recording does not have the answer.
    """

    name: str
    model: str
    ask: Callable[[Question[Decision]], Answer[Decision]]
    """Waits for the answer. Raises AskError."""
    context_tokens: int = CONTEXT
    """What a question and its answer may have."""
    salt: str = ""
    """Of the marks around quoted text, such as the store's id."""

    @classmethod
    def on_loop(
        cls, asker: Asker, loop: asyncio.AbstractEventLoop, *, context_tokens: int = CONTEXT, salt: str = ""
    ) -> Self:
        """Return one for the worker threads of a running loop, on which the asker lives."""

        def ask(question: Question[Decision]) -> Answer[Decision]:
            return asyncio.run_coroutine_threadsafe(asker.ask(question), loop).result()

        return cls(learner_name(asker.model), asker.model, ask, context_tokens, salt)

    @classmethod
    def alone(
        cls,
        opening: Callable[[], AbstractAsyncContextManager[Asker]],
        model: str,
        *,
        context_tokens: int = CONTEXT,
        salt: str = "",
    ) -> Self:
        """Return one for threads without a loop; the asker is opened for each question."""

        async def asked(question: Question[Decision]) -> Answer[Decision]:
            async with opening() as asker:
                return await asker.ask(question)

        return cls(
            learner_name(model), model, lambda question: asyncio.run(asked(question)), context_tokens, salt
        )

    def resolve(self, hunks: Sequence[Hunk], findings: Sequence[str] = ()) -> Resolution | Declined:
        """Decide all hunks. `findings` is why the answer before this one was refused."""
        question = self._question(hunks, findings)
        count = sum(len(hunk.statements) for hunk in hunks)
        if not fits(question, self.context_tokens) or len(hunks) > _HUNKS or count > _STATEMENTS:
            return Declined(f"what is to be decided is too long for {self.context_tokens} tokens")
        try:
            decision = self.ask(question).value
        except AskError as error:
            if error.fault == "replay":  # whoever replays wants the run that was recorded
                raise
            return Declined(error.message)
        return Declined(decision.unclear) if decision.unclear else _resolution(hunks, decision)

    def _question(self, hunks: Sequence[Hunk], findings: Sequence[str]) -> Question[Decision]:
        last = max(s.number for hunk in hunks for s in hunk.statements)
        numbered = [_shown(n, hunk, 100 * (last // 100 + n)) for n, hunk in enumerate(hunks, 1)]
        refused = "\n".join(findings)
        quoting = Quoting(*numbered, refused, salt=self.salt)
        blocks = [quoting.block("statements", text) for text in numbered]
        if refused:
            blocks += ["An answer before this one was refused:", quoting.block("findings", refused)]
        size = sum(len(s.text) + 120 for hunk in hunks for s in hunk.statements)
        return Question(
            stage="resolve",
            about=f"{len(hunks)} conflicts of a page",
            prompt=prompt("resolve"),
            content="\n\n".join(blocks),
            form=Decision,
            max_tokens=min(500 + size, self.context_tokens // 2),
            check=lambda decision: list(_findings(hunks, decision, quoting.mark)),
        )


def _shown(number: int, hunk: Hunk, first: int) -> str:
    what = "front matter, as YAML" if hunk.is_front_matter else f"section {hunk.section!r}"
    head = f"Conflict {number}, {what}. New wordings have numbers from {first} on."
    return "\n".join([head, *(shown(s.number, _history(hunk, s), s.text) for s in hunk.statements)])


def _history(hunk: Hunk, statement: Numbered) -> str:
    """Say which versions have a statement."""
    if hunk.kept_by_all(statement):
        return "was there before; ours and theirs both have it"
    if not statement.is_added:
        gone = [side for side in hunk.versions if side not in statement.sides]
        return f"was there before; {' and '.join(gone)} took it out, or replaced it"
    return f"new in {' and '.join(side for side in hunk.versions if side in statement.sides)}"


def _findings(hunks: Sequence[Hunk], decision: Decision, mark: str) -> Iterator[str]:
    """Yield what keeps an answer from being read as a decision. Whether it is right, the store checks."""
    if decision.unclear:
        return
    if len(decision.hunks) != len(hunks):
        yield f"there are {len(hunks)} conflicts, and the answer decides {len(decision.hunks)}"
        return
    statements = {s.number for hunk in hunks for s in hunk.statements}
    wordings = [w.number for made in decision.hunks for w in made.wordings]
    for number, n in Counter([*statements, *wordings]).items():
        if n > 1:
            yield f"the number {number} is that of a statement, or of two wordings: give wordings their own"
    known = {*statements, *wordings}
    named = {n for made in decision.hunks for n in made.stands} | {f.into for f in decision.account if f.into}
    for number in sorted(named - known):
        yield f"there is no statement and no wording {number}"
    for fate in decision.account:
        if not is_plain(fate.reason, mark):
            yield f"the reason of statement {fate.number} is not one plain line"
    for hunk, made in zip(hunks, decision.hunks, strict=True):
        for wording in made.wordings:
            text = as_item(wording.text, hunk.statements[-1].text)
            sources = [s.text for s in hunk.statements]
            problems = [] if hunk.is_front_matter else wording_problems(text, mark, sources)
            yield from (f"wording {wording.number}: {problem}" for problem in problems)


def _resolution(hunks: Sequence[Hunk], decision: Decision) -> Resolution:
    texts = {s.number: s.text for hunk in hunks for s in hunk.statements}
    for hunk, made in zip(hunks, decision.hunks, strict=True):
        for wording in made.wordings:
            text = as_item(wording.text, hunk.statements[-1].text)
            texts[wording.number] = f"{text}\n" if hunk.is_front_matter else text
    decisions = tuple(tuple(texts[n] for n in made.stands) for made in decision.hunks)
    return Resolution(decisions, tuple(fate.claim(texts) for fate in decision.account))
