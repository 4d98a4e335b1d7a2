"""Check that every plan is what its record and its evidence say.

Intact: as it was written. Carried: rebased or squashed since, and what differs. Altered: something is not
what it was. Unknown: this clone never had the evidence branch; what fetches it is said. REF is a branch, tag
or commit; without it, HEAD.

--signatures looks at who signed the plans instead: good, bad, unknown (nobody says whose key it is; with
ssh, gpg.ssh.allowedSignersFile of git's configuration does) or unsigned. Plans have to be signed where
`[sign]` of xp.toml asked for it when they were made.

JSON: {"ref", "counts": {"intact", "carried", "altered", "unknown"}, "findings": [{"plan_id",
"what": where there is no plan id, "the experiences" or "the evidence branch", "commit", "state", "problems":
[text], "notes": [text]}]}

JSON of --signatures: {"ref", "counts": {"good", "bad", "unknown", "unsigned"}, "signatures": [{"commit",
"plan_id", "state", "is_required", "signer", "key", "reason", "is_wrong"}]}

Exit code 1 when something is altered or unknown, or a signature is bad, or a plan that has to be signed has
no good one.
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

    from xpstore.signatures import Signature
    from xpstore.verify import Finding

_SIGNED = {"good": "green", "bad": "red", "unknown": "yellow", "unsigned": "yellow"}
_COLOURS = {"intact": "green", "carried": "yellow", "altered": "red", "unknown": "yellow"}


@click.command(help=__doc__)
@click.argument("ref", default="HEAD", metavar="[REF]")
@click.option("--signatures", is_flag=True, help="Check who signed the plans.")
@json_option
@click.pass_context
@pass_app
def command(app: App, ctx: click.Context, ref: str, *, signatures: bool, as_json: bool) -> None:
    """Check; see the module's docstring."""
    if signatures:
        _signatures(app, ctx, ref, as_json=as_json)
        return

    from xpstore.verify import verify

    findings = verify(app.location(), ref)
    counts: Counter[str] = Counter(finding.state for finding in findings)
    if as_json:
        rows = [asdict(finding) for finding in findings]
        emit({"ref": ref, "counts": {state: counts[state] for state in _COLOURS}, "findings": rows})
    else:
        for line in _lines(findings, counts):
            click.echo(line)
    ctx.exit(1 if counts["altered"] or counts["unknown"] else 0)


def _signatures(app: App, ctx: click.Context, ref: str, *, as_json: bool) -> None:
    from xpstore.signatures import check

    found = check(app.location(), ref)
    counts: Counter[str] = Counter(signature.state for signature in found)
    if as_json:
        rows = [{**asdict(signature), "is_wrong": signature.is_wrong} for signature in found]
        emit({"ref": ref, "counts": {state: counts[state] for state in _SIGNED}, "signatures": rows})
    else:
        for line in _signature_lines(found, counts):
            click.echo(line)
    ctx.exit(1 if any(signature.is_wrong for signature in found) else 0)


def _signature_lines(found: Sequence[Signature], counts: Counter[str]) -> Iterator[str]:
    for one in found:
        state = paint(f"{one.state:8}", _SIGNED[one.state])
        details = [one.signer, one.key if one.state == "unknown" else "", one.reason]
        asked = "it has to be signed" if one.is_wrong and one.state != "bad" else ""
        text = ": ".join(filter(None, [f"plan {one.plan_id}", ", ".join(filter(None, [*details, asked]))]))
        yield f"{state} {paint(shortened(one.commit), 'yellow')} {paint(text)}"
    yield f"{counted(len(found), 'plan')}: " + ", ".join(f"{counts[state]} {state}" for state in _SIGNED)


def _lines(findings: Sequence[Finding], counts: Counter[str]) -> Iterator[str]:
    for finding in findings:
        if not finding.problems and not finding.notes:
            continue
        state = paint(f"{finding.state:8}", _COLOURS[finding.state])
        what = f"plan {finding.plan_id}" if finding.plan_id else finding.what
        commit = paint(f"{shortened(finding.commit)} ", "yellow") if finding.commit else ""
        yield f"{state} {commit}{paint(what)}"
        for text in (*finding.problems, *finding.notes):
            yield paint(f"    {text}")
    plans = Counter(f.state for f in findings if f.plan_id)
    unknown = f", {plans['unknown']} unknown" if plans["unknown"] else ""
    said = ", ".join(f"{counts[state]} {state}" for state in ("intact", "carried", "altered"))
    yield f"{counted(plans.total(), 'plan')}: {said}{unknown}"
