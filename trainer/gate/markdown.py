"""The report of a gate as Markdown: for a step summary, and for one comment that is written over and over.

Everything that a case, a lesson or an error says stands in code spans and blocks: it can neither mark
anything up nor call anybody. A comment may have 65,536 characters on the usual sites; this has fewer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.gate.plain import block, code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trainer.gate.decide import Figures
    from trainer.gate.report import GateReport, Lesson

LIMIT = 60_000
"""Characters of a whole report."""
ROWS = 40
"""Rows of a table."""
BODY = 1_500
"""Characters of what is shown of one lesson's evidence."""
MARKER = "xp-gate"
"""In the comment that a later report replaces."""
_TITLES = {"accept": "ACCEPT", "reject": "REJECT", "inconclusive": "INCONCLUSIVE"}


def marker(store: str, branch: str) -> str:
    """Return the line by which a report on a branch is found again, to be replaced."""
    name = "".join(char if char.isalnum() or char in "/_." else "_" for char in branch)
    return f"<!-- {MARKER} {store} {name} -->"


def markdown(report: GateReport) -> str:
    """Return the report; lessons are left out from the last one where it gets too long."""
    head = "\n".join(_head(report))
    tail = "\n".join(["", *_ids(report), ""])
    lessons = list(_lessons(report))
    shown: list[str] = []
    room = LIMIT - len(head) - len(tail) - 200
    for text in lessons:
        if len(text) > room:
            shown.append(f"… and {len(lessons) - len(shown)} more: {code(f'xp log {report.branch}')}\n")
            break
        shown.append(text)
        room -= len(text) + 1
    title = ["", f"### What it teaches ({len(lessons)})", ""] if lessons else []
    return "\n".join([head, *title, *shown, tail])


def markdown_of_nothing(store: str, branch: str, main: str) -> str:
    """Return the report where a branch has nothing that could land."""
    return f"{marker(store, branch)}\n## Gate: nothing to land\n\n{code(main)} has all of {code(branch)}.\n"


def _head(report: GateReport) -> Iterator[str]:
    record = report.record
    yield marker(report.store, report.branch)
    progress = ", progress" if record.progress else ""
    yield f"## Gate: {_TITLES[record.decision]}{progress}"
    yield ""
    yield f"{code(report.branch)} on {code(report.main)}: {code(record.reason, 400)}"
    yield ""
    if report.figures:
        yield from _figures(report.figures, record.policy.margin)
    yield from _flips(report)
    yield from _pages(report)
    yield from _remarks(report)


def _figures(figures: Figures, margin: float) -> Iterator[str]:
    def percent(share: float) -> str:
        return f"{share:.1%}"

    def interval(ends: tuple[float, float]) -> str:
        return f"{percent(ends[0])} to {percent(ends[1])}"

    yield "| | baseline | candidate | difference |"
    yield "|---|---|---|---|"
    yield (
        f"| pass rate | {percent(figures.baseline)} | {percent(figures.candidate)} |"
        f" {figures.difference * 100:+.1f} points |"
    )
    yield (
        f"| 95 % interval | {interval(figures.baseline_interval)} | {interval(figures.candidate_interval)} |"
        f" {figures.low * 100:+.1f} to {figures.high * 100:+.1f} points |"
    )
    for k, before, after in figures.pass_k[1:]:
        gap = f"{(after - before) * 100:+.1f} points"
        yield f"| all of {k} attempts pass | {percent(before)} | {percent(after)} | {gap} |"
    yield ""
    yield (
        f"{figures.cases} cases, {figures.trials} attempts at each, {figures.wins} better, {figures.losses}"
        f" worse. {figures.test}: p = {figures.p_better:.2g} that it is better by chance, p ="
        f" {figures.p_worse:.2g} that it is worse by chance; alpha = {figures.alpha:.4g}. A loss of"
        f" {margin * 100:g} points must be ruled out. A gain of {figures.resolvable * 100:.1f} points would"
        " have been seen in four of five such runs."
    )
    if figures.unscored:
        yield f"{figures.unscored} trials could not be scored; the figures are of the others."
    yield ""


def _flips(report: GateReport) -> Iterator[str]:
    if not report.flips:
        return
    yield f"### Cases that came out otherwise ({len(report.flips)})"
    yield ""
    yield "| case | baseline | candidate | |"
    yield "|---|---|---|---|"
    for flip in report.flips[:ROWS]:
        change = f"{flip.difference * 100:+.0f}"
        yield f"| {code(flip.name)} | {code(flip.baseline, 40)} | {code(flip.candidate, 40)} | {change} |"
    if len(report.flips) > ROWS:
        yield f"| and {len(report.flips) - ROWS} more | | | |"
    yield ""


def _pages(report: GateReport) -> Iterator[str]:
    if not report.pages:
        return
    yield f"### Experiences that it changes ({len(report.pages)})"
    yield ""
    for page in report.pages[:ROWS]:
        yield f"- {page.change}: {code(page.name)}"
    if len(report.pages) > ROWS:
        yield f"- and {len(report.pages) - ROWS} more"
    yield ""


def _remarks(report: GateReport) -> Iterator[str]:
    if report.suspects:
        yield "### What does not land by itself: a person has to read it"
        yield ""
        for sentence in report.suspects[:ROWS]:
            yield f"- {code(sentence, 300)}"
        yield ""
    if report.quotations:
        yield "### What its lessons quote of cases that they must not know"
        yield ""
        for quotation in report.quotations[:ROWS]:
            weight = "" if quotation.is_blatant else "perhaps by chance: "
            yield f"- {weight}{code(quotation.sentence, 300)}"
        yield ""
    if report.unscored:
        yield f"### Trials that could not be scored ({len(report.unscored)})"
        yield ""
        for failure in report.unscored[:ROWS]:
            yield f"- {code(failure.name)}, attempt {failure.trial + 1}: {code(failure.error)}"
        yield ""


def _lessons(report: GateReport) -> Iterator[str]:
    for lesson in report.lessons:
        yield "\n".join(_lesson(report, lesson))


def _lesson(report: GateReport, lesson: Lesson) -> Iterator[str]:
    yield f"**{_commit(report, lesson.commit)}** {code(lesson.subject)} by {code(lesson.author)}"
    if lesson.body:
        yield ""
        yield f"<details><summary>Evidence</summary>\n\n{block(lesson.body, BODY)}\n\n</details>"
    yield ""


def _ids(report: GateReport) -> Iterator[str]:
    record = report.record
    yield "<details><summary>What was compared, and how to repeat it</summary>"
    yield ""
    yield f"- candidate {_commit(report, record.candidate)}, experiences {code(record.experiences)}"
    yield f"- against {_commit(report, record.against)}, experiences {code(record.baseline)}"
    if record.trials:
        yield (
            f"- suite {code(record.suite)}, {code(record.suite_digest)}; {record.trials} attempts, look"
            f" {record.look}"
        )
        who = [report.environment, report.agent, report.model, report.simulator, report.code]
        yield f"- measured by {', '.join(code(part) for part in who if part)}"
        cost = report.cost
        yield f"- {cost.ran} trials were run in {cost.seconds:g} s, {cost.reused} scores were on record"
        yield f"- evaluations {' and '.join(_file(report, path) for path in record.evaluations if path)}"
    yield f"- decision {_file(report, report.path)}, decided by {code(record.decided_by)}"
    yield f"- again: {code(report.again, 400)}"
    yield ""
    yield "</details>"


def _commit(report: GateReport, commit: str) -> str:
    short = code(commit[:12])
    return f"[{short}]({report.url}/commit/{commit})" if report.url and commit.isalnum() else short


def _file(report: GateReport, path: str) -> str:
    shown = code(path)
    return f"[{shown}]({report.url}/blob/{report.evidence_branch}/{path})" if report.url else shown
