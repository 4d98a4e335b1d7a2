"""The ways in which a rollout can come out badly, as columns of zeros and ones over a corpus.

`failed`          the evaluation did not pass.
`failed NAME`     the evaluation names a criterion that was not met.
`left out`        it failed, and a call of the case's expected actions that changes something never came.
`refused TOOL ERROR`  TOOL answered with this error.

Expected actions are training labels. They explain failures here and are never part of a lesson. Which
single call was unwanted is not used: a case has one right answer per object, so that more trials add calls,
but no independent decisions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.offline.corpus import MIN_CASES
from trainer.offline.grammar import Avoid, Refused
from trainer.offline.masking import changes_something, is_name
from trainer.offline.objects import is_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from trainer.offline.corpus import Corpus
    from trainer.offline.facts import Facts
    from trainer.offline.grammar import Lesson

FAILED = "failed"
LEFT_OUT = "left out"
WANTED = frozenset({"see-through", "make-sure"})
"""Families that read labels: an outcome that is made of labels would be circular."""
_SITUATIONS = frozenset({"decision", "refused", "look-up", "recover", "take-from"}) | WANTED

Columns = dict[str, tuple[bool, ...]]
Done = tuple[str, frozenset[tuple[str, str]]]


def columns(corpus: Corpus) -> Columns:
    """Return every outcome that enough cases have, in the order of the corpus."""
    rows = [_outcomes(corpus, facts) for facts in corpus.rollouts]
    cases: dict[str, set[str]] = {FAILED: {f.case for f in corpus.rollouts}}
    for facts, row in zip(corpus.rollouts, rows, strict=True):
        for name in row:
            cases.setdefault(name, set()).add(facts.case)
    named = sorted(name for name, found in cases.items() if name == FAILED or len(found) >= MIN_CASES)
    return {name: tuple(name in row for row in rows) for name in named}


def outcomes_for(lesson: Lesson, names: Columns) -> list[str]:
    """Return the outcomes that a lesson may be tested on, of those that the corpus has."""
    criteria = [n for n in names if n.startswith(f"{FAILED} ")]
    if lesson.family == "refused":
        wanted = [refused(lesson.tool, lesson.error if isinstance(lesson, Refused) else "")]
    elif lesson.family == "decision":
        wanted = criteria or [FAILED]  # where it is known what failed, the sum of all failures only blurs it
    elif lesson.family in WANTED:
        wanted = [FAILED]
    else:
        wanted = [FAILED, LEFT_OUT, *criteria]
    return [name for name in wanted if name in names]


def group_of(lesson: Lesson, outcome: str) -> str:
    """Return the group of candidates that share an allowance of false lessons (`learn.ALLOWED`)."""
    if lesson.family == "refused":
        return "refusals"
    if lesson.family in WANTED:
        return "wanted"
    name = "reward" if outcome.split(" ", 1)[0] == FAILED else "labels"
    if isinstance(lesson, Avoid):
        return f"{name}, decisions" if len(lesson.condition) == 1 else f"{name}, fine decisions"
    return name


def compares_cases(lesson: Lesson) -> bool:
    """Say whether cases may be compared with each other, not only trials of one case.

    So where a lesson speaks of one situation in which both was done. Elsewhere ("call this tool") what sets
    the cases apart is what they are about, and hard ones would pass for bad behaviour.
    """
    return lesson.family in _SITUATIONS


def tells(facts: Facts, outcome: str, tool: str) -> bool:
    """Say whether a rollout tells anything about an outcome of a lesson on `tool`.

    A refusal needs a call, all else a score, and a criterion needs to have been judged.
    """
    kind, _, rest = outcome.partition(" ")
    if kind == "refused":
        return bool(facts.of(tool))
    return facts.scored and (kind != FAILED or not rest or rest in facts.criteria)


def refused(tool: str, error: str) -> str:
    """Return the name of the outcome."""
    return f"refused {tool} {error}"


def _outcomes(corpus: Corpus, facts: Facts) -> set[str]:
    found = {refused(c.tool, c.template) for c in facts.calls if c.template and is_name(c.tool)}
    if not facts.failed or not facts.scored:
        return found
    found.add(FAILED)
    broken = [name for name, failed in facts.criteria.items() if failed]
    if len(facts.criteria) > 1:
        found |= {f"{FAILED} {name}" for name in broken if is_name(name)}
    if facts.expected is None:
        return found
    wanted = {_done(corpus, tool, arguments) for tool, arguments in facts.expected if changes_something(tool)}
    made = {
        _done(corpus, c.tool, c.arguments) for c in facts.calls if changes_something(c.tool) and not c.refused
    }
    if wanted - made:
        found.add(LEFT_OUT)
    return found


def _done(corpus: Corpus, tool: str, arguments: Mapping[str, JsonValue]) -> Done:
    """Return what is compared: the tool and the objects it acts on, by the keys that reading tools take."""
    return tool, frozenset(
        (key, value)
        for key, value in arguments.items()
        if key in corpus.identifying and is_id(key) and isinstance(value, str)
    )
