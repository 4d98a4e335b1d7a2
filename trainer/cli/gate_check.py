"""`xp gate --self-test`: what it runs, and what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trainer.cli.gate_options import options_of
from trainer.cli.running import Stages
from xpstore.cli.output import counted, emit, paint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from trainer.gate.selftest import SelfTest
    from xpstore.location import Location


def run_test(location: Location, against: str, given: Mapping[str, object], *, as_json: bool) -> int:
    """Try the gate on the experiences of main, or of another branch; return the exit code.

    1 where the gate is not to be trusted with these cases, 2 where no harm could be planted.
    """
    import asyncio
    from dataclasses import replace

    from trainer.environment import world_of
    from trainer.gate.selftest import self_test
    from trainer.suite import load_suites
    from xpstore.snapshot import snapshot

    options = options_of(given)
    commit = location.resolve(against or location.config.main)
    config = location.config_at(commit)
    suite, trials = options.suite or config.gate.suite, options.trials or config.gate.trials
    policy = replace(config.gate, suite=suite, trials=trials)
    with Stages("Nothing of it is kept.") as stages:
        found = asyncio.run(
            self_test(
                world_of(config.environment, config.llm),
                load_suites(location, commit, suite)[suite],
                snapshot(location, commit),
                policy,
                parallel=options.parallel,
                time_limit=options.time_limit,
                progress=stages.progress,
            )
        )
    code = (1 if found.harm else 2) if found.problems else 0
    if as_json:
        emit({**found.model_dump(mode="json"), "problems": found.problems, "exit_code": code})
    else:
        for line in describe(found):
            click.echo(line)
    return code


def describe(found: SelfTest) -> Iterator[str]:
    """Yield the outcome for people."""
    size = f"{counted(found.cases, 'case')}, {counted(found.trials, 'trial')} of each"
    yield f"the same experiences against themselves ({size}): {found.comparisons} comparisons,"
    yield f"  {found.called_progress} called progress, {found.called_worse} called worse"
    if found.harm:
        effect = f"{found.effect * 100:+.1f} points"
        yield paint(f"a planted harm, {found.harm} ({effect}): {found.harm_decision.upper()}")
    yield "simulated, agents that pass a third of their cases:"
    for rates in found.simulated:
        yield (
            f"  {rates.effect * 100:+4.0f} points: accepted {rates.accepted:.0%}, rejected"
            f" {rates.rejected:.0%}, called progress {rates.progress:.0%}"
        )
    if found.failures:
        yield f"{counted(found.failures, 'trial')} could not be scored"
    yield from (paint(f"PROBLEM: {problem}") for problem in found.problems)
    if not found.problems:
        yield "The gate can be trusted with these cases."
