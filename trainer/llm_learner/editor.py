"""LLMEditor: a model compares the trials of one case and proposes edits of single statements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.asking.budget import tokens_of
from trainer.asking.prompts import prompt
from trainer.asking.question import Question, anything
from trainer.asking.quoting import Quoting
from trainer.domain import EditResult
from trainer.llm_learner.claims import learner_name
from trainer.llm_learner.edit_form import Edits
from trainer.llm_learner.edits import Editing
from trainer.llm_learner.instance import Instances
from trainer.llm_learner.room import CONTEXT, room
from trainer.llm_learner.shelf import Library, shelf
from trainer.llm_learner.transcript import clipped
from trainer.llm_learner.wording import LONGEST, tidy
from trainer.offline.masking import is_name
from trainer.offline.page import page_name
from trainer.similarity import TextSimilarity
from trainer.suspicion import why_suspect
from xpstore.names import without_invisible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue

    from trainer.asking.question import Asker
    from trainer.context import ExperienceGradientContext, LearnedHistory
    from trainer.domain import RolloutAnalysis
    from trainer.interfaces import GroupScope
    from trainer.llm_learner.edits import Dropped
    from trainer.llm_learner.shelf import Shelf
    from trainer.similarity import Similarity
    from xpstore.experience import ExperienceSet
    from xpstore.gradient import PatchSemanticGradient

ANSWER = 2_000
"""Tokens that an answer may have."""
LEAST = 120
"""Tokens of notes below which a trial is not worth showing: of too many, those that passed go first."""
TAKEN_BACK = 20
"""Statements that people took back that are shown."""
_SHELF = 0.4  # share of the room for pages


class LLMEditor:
    """ExperienceEditor that asks once for all trials of a case."""

    scope: GroupScope = "case"

    def __init__(
        self,
        asker: Asker,
        context_tokens: int = CONTEXT,
        similarity: Similarity | None = None,
        salt: str = "",
    ) -> None:
        """Ask questions that, with their answers, have at most `context_tokens`.

        `similarity` finds pages that may say what a lesson says; None = by words. `salt` is that of the marks
        around quoted data, such as the store's id.
        """
        self._asker = asker
        self._context_tokens = context_tokens
        self._similarity = similarity or TextSimilarity()
        self._salt = salt
        self._library: Library | None = None

    @property
    def learner(self) -> str:
        """Name, version and model."""
        return learner_name(self._asker.model)

    async def edit(
        self,
        analyses: Sequence[RolloutAnalysis],
        experience_set: ExperienceSet,
        context: ExperienceGradientContext,
    ) -> EditResult:
        """Return a gradient for each statement that the model would add, change or take away.

        `analyses` are the trials of one case, in any order. Raises AskError where the model gives no answer.
        """
        ordered = sorted(analyses, key=_order)
        noted = [a for a in ordered if a.trajectories]
        if not noted:
            return EditResult(nothing={a.rollout.id: _unread(a) for a in ordered})
        question, editing = await self._question(noted, experience_set, context.history)
        answer = (await self._asker.ask(question)).value
        gradients, dropped = editing.gradients(answer)
        refused: list[JsonValue] = [d.why for d in dropped if d.why]
        case = noted[0].rollout.case.name
        return EditResult(
            gradients=tuple(gradients),
            nothing=_nothing(ordered, editing, answer, gradients, dropped),
            report={f"case {case}": {"proposed": len(answer.edits), "refused": refused}},
        )

    def _shelved(self, experience_set: ExperienceSet) -> Library:
        """Return the pages; the cases of a run see the same ones, so they are read once."""
        if self._library is None or self._library.experience_set is not experience_set:
            self._library = Library(experience_set)
        return self._library

    async def _question(
        self, noted: Sequence[RolloutAnalysis], experience_set: ExperienceSet, history: LearnedHistory
    ) -> tuple[Question[Edits], Editing]:
        asked = prompt("edit")
        tokens = min(ANSWER, self._context_tokens // 4)
        left = room("edit", asked, Edits, tokens, self._context_tokens)
        pages = await self._shelved(experience_set).nearest(_query(noted), _tools(noted), self._similarity)
        shelved = shelf(pages, history, int(left * _SHELF))
        told = {"pages": shelved.text, "taken back": clipped(_taken_back(history, shelved, noted), left // 8)}
        trials = _chosen(noted, left - sum(map(tokens_of, told.values())))
        share = (left - sum(map(tokens_of, told.values()))) // len(trials)
        told["trials"] = "\n\n".join(_trial(n, a, share) for n, a in enumerate(trials, 1))
        quoting = Quoting(*told.values(), salt=self._salt)
        rollouts = [a.rollout for a in trials]
        editing = Editing(
            trials=trials,
            shelf=shelved,
            experience_set=experience_set,
            history=history,
            instances=Instances.of(rollouts),
            mark=quoting.mark,
            suspect=why_suspect(rollouts),
            prompt=f"{asked.name}/{asked.version}",
        )
        question = Question(
            stage="edit",
            about=f"case {noted[0].rollout.case.name}",
            prompt=asked,
            content="\n\n".join(quoting.block(label, text) for label, text in told.items() if text),
            form=Edits,
            max_tokens=tokens,
            check=editing.findings,
            stands=anything,  # what is wrong after repair is left out, edit by edit
        )
        return question, editing


def _nothing(
    analyses: Sequence[RolloutAnalysis],
    editing: Editing,
    answer: Edits,
    gradients: Sequence[PatchSemanticGradient],
    dropped: Sequence[Dropped],
) -> dict[str, str]:
    """Return why each rollout that no gradient cites taught nothing."""
    said = _fit(answer.nothing, editing) or "the model proposed nothing on it"
    shown = {a.rollout.id for a in editing.trials}
    why = {a.rollout.id: said if a.rollout.id in shown else _unread(a) for a in analyses}
    uncited = next((d.why for d in dropped if d.why and not editing.cited(d.edit)), "")
    if uncited:  # by a trial that there is, so it may be about any
        why |= dict.fromkeys(shown, f"a lesson was refused: {uncited}"[:LONGEST])
    for edit, problems in dropped:
        reason = f"its lesson was refused: {problems}" if problems else _fit(edit.rationale, editing) or said
        why |= {a.rollout.id: reason[:LONGEST] for a in editing.cited(edit)}
    used = {rollout for g in gradients for rollout in g.rollouts}
    return {rollout: reason for rollout, reason in why.items() if rollout not in used}


def _unread(analysis: RolloutAnalysis) -> str:
    if analysis.trajectories:
        return "its case has more trials than one question holds"
    return analysis.nothing or "there is no note on it"


def _chosen(noted: Sequence[RolloutAnalysis], tokens: int) -> list[RolloutAnalysis]:
    """Return the trials that are shown; of too many, those that failed first, for they teach most."""
    ordered = sorted(noted, key=lambda a: (a.evaluation.passed, a.evaluation.score, _order(a)))
    most = max(2, tokens // LEAST)
    if len(ordered) > most:
        ordered = [*ordered[: most - 1], ordered[-1]]  # one that went best, to compare
    return sorted(ordered, key=_order)


def _order(analysis: RolloutAnalysis) -> tuple[str, str]:
    """Order trials by what their notes say: the id of a rollout names a commit, which no other store has."""
    return "\n".join(t.content for t in analysis.trajectories), analysis.rollout.id


def _trial(number: int, analysis: RolloutAnalysis, tokens: int) -> str:
    evaluation = analysis.evaluation
    head = f"trial {number}: {'passed' if evaluation.passed else 'failed'}, score {evaluation.score:g}"
    return "\n".join([head, clipped("\n".join(t.content.strip() for t in analysis.trajectories), tokens)])


def _query(noted: Sequence[RolloutAnalysis]) -> str:
    return "\n".join(dict.fromkeys(t.retrieval_anchor for a in noted for t in a.trajectories))


def _tools(noted: Sequence[RolloutAnalysis]) -> list[str]:
    return [n for n in dict.fromkeys(t.tool_name for a in noted for t in a.rollout.calls) if is_name(n)]


def _taken_back(history: LearnedHistory, shelved: Shelf, noted: Sequence[RolloutAnalysis]) -> str:
    """Return what people took back of these pages, or of what these trials had shown."""
    names = {p.name for p in shelved.pages.values()} | set(map(page_name, _tools(noted)))
    trials = {a.rollout.id for a in noted}
    found = [u for u in history.undone if u.experience in names or u.rollouts & trials]
    return "\n".join(f"- {u.experience}: {u.key}" for u in found[:TAKEN_BACK])


def _fit(text: str, editing: Editing) -> str:
    """Return a reason of the model that may stand beside any rollout; empty for one with data of a case."""
    line = without_invisible(tidy(text))[:LONGEST]
    return "" if editing.is_private(line) else line
