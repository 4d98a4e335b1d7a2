"""Show one plan as a review: what it changes, why, and what it saw.

The argument is a plan id, a commit or a branch; a few digits will do. Below the message and the diff stands
every lesson with its confidence and its evidence: the rollouts, how they ended, and the notes on them. Where
the branch had changed a page too, it says how both were merged, who decided, and what was not kept. Where a
model had a part in it, --verbose says what it was asked.

JSON: {the keys of a commit in `xp log --json`, "diff", "lessons": [{"plan_id", "gradient_id", "experience",
"confidence", "rationale", "added": [statement], "removed": [statement], "rollouts": [{"id", "passed",
"score", "case", "forgotten"}], "notes": [{"uri", "rollout", "outcome", "anchor"}]}], "merges":
[{"experience", "verdict": "PROVEN" or "VERIFIED", "resolved_by", "account": [{"section", "text", "side",
"change", "fate", "into", "reason"}]}], "asked": [{"plan_id", "name": the model's, "prompts": {stage:
version}, "calls", "prompt_tokens", "completion_tokens", "cost"}]: by the whole run, until the plan was made}
"""

from __future__ import annotations

from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING

import click

from xpstore.cli.app import App, json_option, pass_app
from xpstore.cli.diff import lines_of, painted
from xpstore.cli.log import as_object, decorations, heading
from xpstore.cli.output import counted, emit, paint, shortened, to_terminal
from xpstore.cli.pager import page
from xpstore.markdown import is_figure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xpstore.review import Asked, Lesson, Merge, Note, Seen

ROLLOUTS_SHOWN = 8


@click.command(help=__doc__)
@click.argument("what", default="HEAD", metavar="[PLAN|COMMIT]")
@click.option("-v", "--verbose", is_flag=True, help="Also say what a model was asked.")
@json_option
@pass_app
def command(app: App, what: str, *, verbose: bool, as_json: bool) -> None:
    """Show; see the module's docstring."""
    from xpstore import review

    location = app.location()
    found = review.show(location, what)
    entry = found.entry
    if as_json:
        emit(
            {
                **as_object(entry),
                "diff": found.diff,
                "lessons": [asdict(lesson) for lesson in found.lessons],
                "merges": [asdict(merge) for merge in found.merges],
                "asked": [asdict(one) for one in found.asked],
            }
        )
        return
    names = decorations(location) if to_terminal() else {}
    head = [*heading(entry, names), ""]
    lines = _review(head, found.diff, found.lessons, said=_words(entry.body))
    models = map(_asked, found.asked) if verbose else ()
    page(chain(lines, *map(_merge, found.merges), *models), app.pager())


def _words(text: str) -> str:
    return " ".join(text.split())


def _review(head: list[str], diff: str, lessons: Sequence[Lesson], *, said: str) -> Iterator[str]:
    """Yield message, diff and lessons; a reason that the message (`said`) has is not said twice."""
    yield from head
    yield from painted(lines_of(diff))
    for number, lesson in enumerate(lessons, 1):
        yield ""
        yield paint(
            f"Lesson {number} of {len(lessons)}: {lesson.experience} (confidence {lesson.confidence:.2f})",
            bold=True,
        )
        yield from _lesson(lesson, said)


def _asked(one: Asked) -> Iterator[str]:
    """Yield what a model was asked for a plan."""
    prompts = ", ".join(f"{name}/{version}" for name, version in one.prompts.items())
    cost = f", cost {one.cost:.4f}" if one.cost else ""
    yield ""
    yield paint(f"Model: {one.name}" + (f", prompts {prompts}" if prompts else ""), bold=True)
    tokens = f"{one.prompt_tokens:,} tokens sent, {one.completion_tokens:,} written"
    yield paint(f"  {counted(one.calls, 'call')} by the run until then, {tokens}{cost}")


def _merge(merge: Merge) -> Iterator[str]:
    """Yield how a page was merged; of its account, what is not simply kept."""
    from xpstore.resolver import how_decided  # loads what judges merges, and most plans had none

    yield ""
    by = how_decided(merge.resolved_by)
    yield paint(f"Merged: {merge.experience} ({merge.verdict}{by})", bold=True)
    for fate in merge.account:
        if fate.fate != "kept":
            whose = {"ours": "the branch's", "theirs": "the plan's"}.get(fate.side, "both sides'")
            why = f": {fate.reason}" if fate.reason else ""
            yield from _statements("-", [fate.text], "red")
            yield paint(f"    {whose}, {fate.fate}{why}")
            yield from _statements("+", [fate.into] if fate.into else [], "green")


def _lesson(lesson: Lesson, said: str) -> Iterator[str]:
    yield from _statements("+", lesson.added, "green")
    yield from _statements("-", lesson.removed, "red")
    if _words(lesson.rationale) not in said:
        for line in lesson.rationale.split("\n"):
            yield paint(f"  {line}".rstrip())
    yield from evidence(lesson.rollouts, lesson.notes)


def evidence(rollouts: Sequence[Seen], notes: Sequence[Note]) -> Iterator[str]:
    """Yield the rollouts that a lesson rests on, each with the notes on it."""
    for seen in rollouts[:ROLLOUTS_SHOWN]:
        yield _outcome(seen)
        for note in notes:
            if note.rollout == seen.id:
                yield paint(f"      {note.uri}: {note.anchor}")
    if len(rollouts) > ROLLOUTS_SHOWN:
        yield f"  and {len(rollouts) - ROLLOUTS_SHOWN} more rollouts (--json lists all)"
    gone = [note.uri for note in notes if not note.rollout]
    for uri in gone:
        yield paint(f"  {uri} is not here: forgotten, or not fetched", "yellow")


def _statements(sign: str, statements: Sequence[str], colour: str) -> Iterator[str]:
    """Yield statements without their figures, which the diff has."""
    for line in (line for statement in statements for line in statement.split("\n")):
        if not is_figure(line):
            yield paint(f"  {sign} {line}", colour)


def _outcome(seen: Seen) -> str:
    word, colour = {True: ("passed", "green"), False: ("failed", "red"), None: ("unscored", "")}[seen.passed]
    score = "" if seen.score is None else f", reward {seen.score:g}"
    case = f", case {seen.case}" if seen.case else ""
    return (
        paint("  rollout ")
        + paint(shortened(seen.id), "yellow")
        + " "
        + paint(word, colour)
        + paint(score + case)
        + (paint(", forgotten", "yellow") if seen.forgotten else "")
    )
