"""LlmMerger: a model decides where edits meet; code numbers, checks and builds (RFC §10.3).

What meets nothing is merged by rule. What is refused after one repair, or cannot be asked, is merged by rule
as well; what the rule refuses too stays unplanned, and is named.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trainer.asking.prompts import prompt
from trainer.asking.question import AskError, Question, anything
from trainer.llm_learner.grouping import Group, groups_of, packed
from trainer.llm_learner.merge_account import Account, accounts_of
from trainer.llm_learner.merge_check import objections
from trainer.llm_learner.merge_form import MergeAnswer, content_of
from trainer.llm_learner.merge_operations import guard, idle, operations
from trainer.llm_learner.room import CONTEXT, fits
from trainer.llm_learner.union import union_of
from trainer.offline.merger import StatementMerger
from trainer.patch_merge import MergeOperation, MergeOutcome, MergeRefusal
from xpstore.document import Document
from xpstore.errors import DocumentError
from xpstore.merge import merge
from xpstore.settings import Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainer.asking.question import Asker
    from trainer.llm_learner.union import Union
    from trainer.patch_merge import PatchMergeContext, PatchMergePatch

MOST = 16
"""Edits in one question where nobody says otherwise."""
_ROOM = 120  # tokens around a statement: number, fate, reason
_DEFAULT = Limits()


@dataclass(frozen=True)
class _Part:
    """What came of a group."""

    group: Group
    outcome: MergeOutcome


@dataclass(frozen=True)
class LlmMerger:
    """PatchMerger that asks a model about edits that meet: one question for up to `max_gradients` of them."""

    asker: Asker
    max_gradients: int = MOST
    context_tokens: int = CONTEXT
    limits: Limits = _DEFAULT
    """What a plan may do; an answer that would do more is refused."""
    salt: str = ""
    """Of the marks around quoted text, such as the store's id."""
    rule: StatementMerger = field(default_factory=StatementMerger)
    """Merges what needs no decision, and what was refused."""

    async def merge(self, context: PatchMergeContext) -> MergeOutcome:
        """Return the operations, what was refused, and what was merged without the model that was asked."""
        groups = groups_of(context, self.max_gradients)
        questions = packed([g for g in groups if g.meets], self.max_gradients)
        answered = await asyncio.gather(*(self._asked(question, context) for question in questions))
        parts = [part for parts in answered for part in parts]
        parts += [_Part(g, await self._by_rule(g.patches, context)) for g in groups if not g.meets]
        return await self._joined(parts, context)

    async def _asked(self, groups: Sequence[Group], context: PatchMergeContext) -> list[_Part]:
        """Ask about groups that have nothing to do with each other."""
        unions: list[Union] = []
        parts: list[_Part] = []
        for group in groups:
            first = 1 + sum(len(union.statements) for union in unions)
            try:
                unions.append(union_of(group, context, first))
            except DocumentError as error:
                parts.append(await self._instead(group, error.message, context))
        if not unions:
            return parts
        content, quoting = content_of(unions, self.salt)

        def read(answer: MergeAnswer) -> list[tuple[Account, list[str]]]:
            taken = context.names | {p.target for p in context.patches}
            return accounts_of(answer, unions, taken, quoting.mark)

        def check(answer: MergeAnswer) -> list[str]:
            found = [line for account, strays in read(answer) for line in (*strays, *self._problems(account))]
            return list(dict.fromkeys(found))

        size = sum(len(s.text) + _ROOM for union in unions for s in union.statements if s.is_open)
        question = Question(
            stage="merge",
            about=f"edits of {', '.join(t for u in unions for t in u.group.targets)}",
            prompt=prompt("merge"),
            content=content,
            form=MergeAnswer,
            max_tokens=min(_ROOM + size, self.context_tokens // 2),
            check=check,
            stands=anything,  # the groups that are right do not wait for those that are not
        )
        if not fits(question, self.context_tokens):
            if len(unions) == 1:
                return [
                    *parts,
                    await self._instead(unions[0].group, "it is too long for a question", context),
                ]
            half = len(unions) // 2
            some = ([u.group for u in unions[:half]], [u.group for u in unions[half:]])
            both = await asyncio.gather(*(self._asked(one, context) for one in some))
            return [*parts, *both[0], *both[1]]
        try:
            answer = (await self.asker.ask(question)).value
        except AskError as error:
            return [*parts, *[await self._instead(u.group, error.message, context) for u in unions]]
        return [*parts, *[await self._decided(account, strays, context) for account, strays in read(answer)]]

    async def _decided(self, account: Account, strays: Sequence[str], context: PatchMergeContext) -> _Part:
        found = [*strays, *self._problems(account)]
        if found:
            return await self._instead(account.union.group, f"refused: {found[0]}", context)
        outcome = MergeOutcome(operations=operations(account), idle=idle(account))
        return _Part(account.union.group, outcome)

    def _problems(self, account: Account) -> list[str]:
        return objections(account) or list(guard(account, self.limits))

    async def _instead(self, group: Group, why: str, context: PatchMergeContext) -> _Part:
        """Merge a group by rule, and say why it was not decided."""
        outcome = await self._by_rule(group.patches, context)
        fallbacks = tuple(MergeRefusal(name=target, reason=why) for target in group.targets)
        return _Part(group, outcome.model_copy(update={"fallbacks": fallbacks}))

    async def _by_rule(self, patches: Sequence[PatchMergePatch], context: PatchMergeContext) -> MergeOutcome:
        """Merge by rule; a page is not deleted where nothing says where its statements go."""
        outcome = await self.rule.merge(context.model_copy(update={"patches": tuple(patches)}))
        lost = {
            op.name: MergeRefusal(name=op.name, reason="nothing says where its statements go")
            for op in outcome.operations
            if op.kind == "delete" and not op.reason and _says_something(context.current(op.name))
        }
        return MergeOutcome(
            operations=tuple(op for op in outcome.operations if op.name not in lost),
            refused=(*outcome.refused, *lost.values()),
        )

    async def _joined(self, parts: Sequence[_Part], context: PatchMergeContext) -> MergeOutcome:
        """Join the outcomes; groups whose changes of a page exclude each other are merged by rule."""
        pages = {f.name: f.content for f in (*context.required_files, *context.candidate_files)}
        operations: dict[str, MergeOperation] = {}
        clashing: set[str] = set()
        for op in (op for part in parts for op in part.outcome.operations):
            other = operations.get(op.name)
            both = op if other is None else _both(pages.get(op.name), other, op)
            if both is None:
                clashing.add(op.name)
            else:
                operations[op.name] = both
        again = [p for p in parts if clashing & {op.name for op in p.outcome.operations}]
        if again:
            patches = tuple(patch for part in again for patch in part.group.patches)
            names = tuple(dict.fromkeys(name for part in again for name in part.group.pages))
            why = f"answers about parts of a large group exclude each other: {', '.join(sorted(clashing))}"
            redone = await self._instead(Group(patches, names, meets=True), why, context)
            return await self._joined([*(p for p in parts if p not in again), redone], context)
        return MergeOutcome(
            operations=tuple(operations.values()),
            refused=tuple(r for part in parts for r in part.outcome.refused),
            fallbacks=tuple(f for part in parts for f in part.outcome.fallbacks),
            idle={gradient: why for part in parts for gradient, why in part.outcome.idle.items()},
        )


def _both(current: str | None, one: MergeOperation, other: MergeOperation) -> MergeOperation | None:
    """Return two operations on one page as one; None where they exclude each other."""
    result = merge(current, one.content, other.content, one.name)
    if result.verdict != "PROVEN":
        return None
    return one.model_copy(
        update={
            "kind": "delete" if result.text is None else "upsert",
            "content": result.text,
            "gradients": tuple(dict.fromkeys((*one.gradients, *other.gradients))),
            "account": (*one.account, *other.account),
        }
    )


def _says_something(text: str | None) -> bool:
    return text is not None and bool(Document.parse(text).statements())
