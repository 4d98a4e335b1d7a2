"""Check that every plan is what its record and its evidence say.

Intact: as it was written. Carried: rebased or squashed since, and what differs. Altered: something is not
what it was. REF is a branch, tag or commit; without it, HEAD.

JSON: {"ref", "counts": {"intact", "carried", "altered"}, "findings": [{"plan_id", "what": where there is no
plan id, "the experiences" or "the evidence branch", "commit", "state", "problems": [text], "notes": [text]}]}

Exit code 1 when something is altered.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from xpstore.cli.app import App, json_option, pass_app
from xpstore.cli.output import counted, emit, paint, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xpstore.verify import Finding

_COLOURS = {"intact": "green", "carried": "yellow", "altered": "red"}


@click.command(help=__doc__)
@click.argument("ref", default="HEAD", metavar="[REF]")
@json_option
@click.pass_context
@pass_app
def command(app: App, ctx: click.Context, ref: str, *, as_json: bool) -> None:
    """Check; see the module's docstring."""
    from xpstore.verify import verify

    findings = verify(app.location(), ref)
    counts: Counter[str] = Counter(finding.state for finding in findings)
    if as_json:
        rows = [asdict(finding) for finding in findings]
        emit({"ref": ref, "counts": {state: counts[state] for state in _COLOURS}, "findings": rows})
    else:
        for line in _lines(findings, counts):
            click.echo(line)
    ctx.exit(1 if counts["altered"] else 0)


def _lines(findings: Sequence[Finding], counts: Counter[str]) -> Iterator[str]:
    for finding in findings:
        if not finding.problems and not finding.notes:
            continue
        state = paint(f"{finding.state:8}", _COLOURS[finding.state])
        what = f"plan {finding.plan_id}" if finding.plan_id else finding.what
        yield f"{state} {paint(shortened(finding.commit), 'yellow')} {paint(what)}"
        for text in (*finding.problems, *finding.notes):
            yield paint(f"    {text}")
    plans = counted(sum(1 for f in findings if f.plan_id), "plan")
    yield f"{plans}: " + ", ".join(f"{counts[state]} {state}" for state in _COLOURS)
