"""Show who taught each line of an experience (-v: on what).

As `git blame`: the commit of each line, who, when; a learner where a plan wrote it, a name where a person
did. REF is a branch, tag or commit; without it, HEAD. Lines of squashed plans, lines that came back when an
undoing was undone, and lines of a page with another name are traced to the plan that wrote them. With -v,
below each statement: every plan that wrote it, newest first, in the words of that time, with its rollouts,
cases and notes.

JSON: {"experience", "ref", "commit", "lines": [{"line", "text", "commit", "author", "date", "subject",
"plans": [plan id], "learner": "" for people, "restored_by": commit or "", "lessons": [{"plan_id",
"gradient_id", "confidence", "rationale", "rollouts": [{"id", "passed", "score", "case", "forgotten"}],
"notes": [{"uri", "rollout", "outcome", "anchor"}]}]}], "statements": [{"first", "last", "section",
"history": [{"text", "commit", …, "lessons"}]}]}
"""

from __future__ import annotations

import unicodedata
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from xpstore.cli.app import App, json_option, pass_app
from xpstore.cli.log import when
from xpstore.cli.output import emit, paint, shortened
from xpstore.cli.pager import page
from xpstore.cli.show import evidence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xpstore.blame import Blame, Line, Origin, Told

WHO = 24
"""Columns for who wrote a line; longer names are cut."""


@click.command(help=__doc__)
@click.argument("experience", metavar="EXPERIENCE")
@click.argument("ref", default="HEAD", metavar="[REF]")
@click.option("-v", "--verbose", is_flag=True, help="The evidence, below each statement.")
@json_option
@pass_app
def command(app: App, experience: str, ref: str, *, verbose: bool, as_json: bool) -> None:
    """Blame; see the module's docstring."""
    from xpstore.blame import blame
    from xpstore.names import check_name

    found = blame(app.location(), check_name(experience), ref, evidence=verbose or as_json)
    if as_json:
        emit(
            {
                "experience": found.experience,
                "ref": ref,
                "commit": found.commit,
                "lines": [_line_object(line) for line in found.lines],
                "statements": [_told_object(told) for told in found.statements],
            }
        )
        return
    page(_lines(found), app.pager())


def _origin_object(origin: Origin) -> dict[str, object]:
    fields = asdict(origin)
    fields["date"] = when(fields.pop("time"))
    return fields


def _line_object(line: Line) -> dict[str, object]:
    return {
        "line": line.number,
        "text": line.text,
        "restored_by": line.restored_by,
        **_origin_object(line.origin),
    }


def _told_object(told: Told) -> dict[str, object]:
    history = [{"text": text, **_origin_object(origin)} for text, origin in told.history]
    return {"first": told.first, "last": told.last, "section": told.section, "history": history}


def _lines(found: Blame) -> Iterator[str]:
    names = [_cut(_who(line.origin)) for line in found.lines]
    width = max((_width(name) for name in names), default=0)
    digits = len(str(len(found.lines)))
    told = {statement.last: statement for statement in found.statements}
    for line, name in zip(found.lines, names, strict=True):
        sha = paint(shortened(line.origin.commit), "yellow")
        who = paint(name, "cyan" if line.origin.learner else "") + " " * (width - _width(name))
        rest = f"{when(line.origin.time)[:10]} {line.number:{digits}}) {line.text}".rstrip()
        yield f"{sha} ({who} {paint(rest)}"
        if line.number in told:
            yield from (f"          {below}".rstrip() for below in _told(told[line.number]))


def _told(statement: Told) -> Iterator[str]:
    for number, (text, origin) in enumerate(statement.history):
        if number:
            yield paint(f"before that, by {_who(origin)} in {shortened(origin.commit)}:")
            for line in text.split("\n"):
                yield paint(f"  {line}".rstrip())
        for lesson in origin.lessons:
            plan = paint(shortened(lesson.plan_id), "yellow")
            said = f", confidence {lesson.confidence:.2f}: {origin.subject}"
            yield paint("plan ") + plan + paint(said)
            yield from evidence(lesson.rollouts, lesson.notes)
        if origin.learner and not origin.lessons:
            plans = ", ".join(shortened(plan) for plan in origin.plans)
            yield paint(f"plan {plans}: {origin.subject} (no evidence here: forgotten, or not fetched)")


def _who(origin: Origin) -> str:
    return origin.learner or origin.author


def _cut(name: str) -> str:
    while _width(name) > WHO:
        name = name[:-2].rstrip("…") + "…"
    return name


def _width(text: str) -> int:
    """Return how many columns a text takes: Chinese characters take two."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )
