"""What the command line says of a gate: for `xp gate`, `xp land` and `xp train --land`."""

from __future__ import annotations

from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, TypeVar

import click

from trainer.cli.running import TIME_LIMIT, TRIALS, Stages, parallel_options
from xpstore.cli.gating import NO_GATE
from xpstore.cli.output import note

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from trainer.gate.measure import GateOptions
    from trainer.gate.report import GateReport
    from xpstore.candidate import LandingCandidate
    from xpstore.cli.app import App
    from xpstore.held_plans import OnSuspect
    from xpstore.landing import Gate, GateVerdict, LandingResult
    from xpstore.location import Location
    from xpstore.merge import MergePage

    Decorated = TypeVar("Decorated", bound=Callable[..., None])

INTERRUPTED = "Nothing landed. A side that was measured whole is on record and is not run again."


def accept_option(command: Decorated) -> Decorated:
    """Add the option by which a person decides."""
    return click.option(
        "--accept-inconclusive", is_flag=True, help="You decide what the gate leaves open; on record."
    )(command)


def accept_suspect_option(command: Decorated) -> Decorated:
    """Add the option by which a person lets in what gives orders to its readers."""
    return click.option(
        "--accept-suspect", is_flag=True, help="You have read the suspect plans and let them in; on record."
    )(command)


def no_gate_option(command: Decorated) -> Decorated:
    """Add the option by which nothing is measured."""
    return click.option("--no-gate", is_flag=True, help="Land without a measurement; on record.")(command)


def gate_options(command: Decorated) -> Decorated:
    """Add the options of what asks a gate before it lands."""
    command = no_gate_option(accept_suspect_option(accept_option(parallel_options(command))))
    return click.option(
        "--trials", type=TRIALS, metavar="N", help="Attempts at each gate case.  [default: as xp.toml says]"
    )(command)


@dataclass(frozen=True, slots=True)
class GatedLanding:
    """What became of a landing, and what the gate said."""

    result: LandingResult
    report: GateReport | None
    """None where there was no gate, or nothing to land."""
    ungated: str
    """Why there was no gate; "" where there was one."""


def options_of(given: Mapping[str, object]) -> GateOptions:
    """Return what the command line says of a gate."""
    from trainer.gate.measure import GateOptions

    limit = given["time_limit"]
    return GateOptions(
        suite=str(given.get("suite") or ""),
        trials=int(str(given.get("trials") or 0)),
        parallel=int(str(given["parallel"])),
        time_limit=float(limit) if isinstance(limit, (int, float)) else None,
        accept_inconclusive=bool(given.get("accept_inconclusive")),
        is_own=bool(given.get("hold")),
    )


def again_of(app: App, branch: str, against: str, given: Mapping[str, object]) -> str:
    """Return the command of `xp gate` that gets the same answer, for a shell."""
    words = ["gate", *(["--against", against] if against else [])]
    words += [f"--{name}={given[name]}" for name in ("suite", "trials") if given.get(name)]
    words += ["--", branch] if branch.startswith("-") else [branch]
    return f"{app.typed()} {' '.join(quote(word) for word in words)}"


def land_gated(  # noqa: PLR0913  # the options of the verb
    app: App,
    location: Location,
    branch: str,
    given: Mapping[str, object],
    *,
    onto: str = "",
    merge: bool = False,
    dry_run: bool = False,
    merge_page: MergePage | None = None,
) -> GatedLanding:
    """Land a branch if the gate accepts it; without a gate where there is none to ask, which is recorded.

    Raises UsageError where the gate cannot begin, such as a broken file of cases, and as `landing.land`.
    """
    from xpstore.landing import land

    on_suspect: OnSuspect = "accept" if given.get("accept_suspect") else "hold"
    ungated = _ungated(location, onto, given)
    if ungated:
        result = land(
            location,
            branch,
            onto=onto,
            merge=merge,
            dry_run=dry_run,
            merge_page=merge_page,
            ungated=ungated,
            on_suspect=on_suspect,
        )
        return GatedLanding(result, None, ungated if result.state == "landed" else "")

    from trainer.gate.landing import LandingGate
    from trainer.gate.report import gate_report

    with Stages(INTERRUPTED) as stages:
        ask = LandingGate(app.cwd, app.store, options_of(given), stages.progress, note)
        result = land(
            location,
            branch,
            onto=onto,
            merge=merge,
            dry_run=dry_run,
            merge_page=merge_page,
            gate=ask,
            on_suspect=on_suspect,
        )
    again = again_of(app, branch, onto, given)
    report = gate_report(location, result.candidate, ask.gated, again=again) if ask.gated else None
    return GatedLanding(result, report, "")


def _ungated(location: Location, onto: str, given: Mapping[str, object]) -> str:
    """Return why there is no gate to ask; "" where there is one."""
    if given["no_gate"]:
        return NO_GATE
    tip = location.tip_of(onto or location.config.main)
    if tip is None or not location.config_at(tip).environment.name:  # what is missing, landing says better
        return "the store names no environment to measure it in"

    from trainer.gate.measure import ungateable

    return ungateable(location, tip)


def gate_of_decision(path: Path, store: str | None, location: Location, branch: str) -> Gate | str:
    """Return the gate of undos and status changes, or why there is none (entry point of `xpstore.gates`)."""
    from trainer.gate.landing import LandingGate
    from trainer.gate.measure import GateOptions, ungateable

    why = ungateable(location, location.tip_of(branch) or location.resolve(branch))
    if why:
        return why

    def ask(candidate: LandingCandidate) -> GateVerdict:
        with Stages(INTERRUPTED) as stages:
            return LandingGate(path, store, GateOptions(time_limit=TIME_LIMIT), stages.progress)(candidate)

    return ask
