"""`xp demo --break`: a harmful update is refused, forced in, found and taken out again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from trainer.cli.running import TIME_LIMIT, Stages
from xpstore.cli.output import emit, paint, shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trainer.bisect.outcome import Outcome
    from trainer.breaking import Proposal
    from trainer.cli.gate_options import GatedLanding
    from xpstore.cli.app import App
    from xpstore.location import Location

PARALLEL = 8
PROMPT = "> "


class Breaking:
    """The steps, each told as it ends unless `is_quiet`."""

    def __init__(self, app: App, *, is_quiet: bool) -> None:
        self._app = app
        self._quiet = is_quiet

    def run(self) -> int:
        """Do it all on the store at the directory. Return the exit code. Raises XpError."""
        from trainer.breaking import propose

        location = self._app.location()
        main = location.config.main
        good = location.resolve(main)
        before = self._accuracy(main)
        proposal = propose(location)
        self._say(f"{len(proposal.plans)} updates are proposed on {proposal.branch}; one of them does harm")
        refused = self._land(proposal, is_forced=False)
        forced = self._land(proposal, is_forced=True)
        broken = self._accuracy(main)
        end = self._bisect(good)
        undo = self._revert(location, end)
        after = self._accuracy(main)
        is_right = [plan for one in end.culprit for plan in one.plans] == [proposal.harmful]
        is_done = refused.result.state == "rejected" and forced.result.state == "landed" and is_right
        code = int(not (is_done and undo))
        if self._quiet:
            emit(
                {
                    "store": str(self._app.cwd),
                    "branch": proposal.branch,
                    "plans": list(proposal.plans),
                    "harmful": proposal.harmful,
                    "refused": refused.result.state,
                    "forced": forced.result.state,
                    "bisect": end.model_dump(mode="json"),
                    "undo": undo,
                    "accuracy": {"before": before, "broken": broken, "after": after},
                    "exit_code": code,
                }
            )
        for name, value in (("before", before), ("with the update", broken), ("without it", after)):
            self._say(f"{name + ':':17}{value:.2%} of suite gate")
        return code

    def _say(self, *lines: str) -> None:
        for line in lines if not self._quiet else ():
            click.echo(paint(line))

    def _typed(self, words: Sequence[str]) -> None:
        """Tell the command that does the step when a person types it."""
        self._say("", f"{PROMPT}{self._app.typed()} {' '.join(words)}")

    def _land(self, proposal: Proposal, *, is_forced: bool) -> GatedLanding:
        from trainer.cli.gate_options import land_gated
        from trainer.cli.land import describe

        given = {"no_gate": is_forced, "parallel": PARALLEL, "time_limit": TIME_LIMIT}
        self._typed(["land", proposal.branch, *(["--no-gate"] if is_forced else [])])
        landed = land_gated(self._app, self._app.location(), proposal.branch, given)
        self._tell(describe(landed.result, self._app, dry_run=False, gated=landed))
        return landed

    def _bisect(self, good: str) -> Outcome:
        from trainer.bisect.search import Question, prepare
        from trainer.cli.bisect import described, searched

        question = Question(shortened(good), "HEAD", parallel=PARALLEL, time_limit=TIME_LIMIT)
        self._typed(["bisect", "--good", question.good])
        end = searched(self._app, prepare(self._app.location(), question), is_quiet=self._quiet)
        self._tell(described(end, question.confidence))
        return end

    def _revert(self, location: Location, end: Outcome) -> str:
        """Undo what was found, if the gate accepts that; return the commit, empty where nobody was found."""
        from xpstore.cli.gating import gating_of
        from xpstore.revert import revert

        if not end.revert:
            return ""
        words, main = end.revert.split(), location.config.main
        self._typed(words)
        gating = gating_of(self._app, location, main, no_gate=False, no_land=False, dry_run=False)
        result = revert(location, words[-1], main, gating=gating)
        (undo,) = result.undos
        self._say(f"gate: accept: {result.verdict}")
        self._say(f"[{main} {shortened(undo.commit)}] {undo.plan.subject}", "")
        return undo.commit

    def _tell(self, lines: Iterable[str]) -> None:
        """Write lines that are for people already, up to what they might type next."""
        shown = "\n".join(lines).partition("\n\nNext:")[0]
        if not self._quiet:
            click.echo(shown)

    def _accuracy(self, ref: str) -> float:
        """Return the accuracy of suite gate at a ref."""
        import asyncio

        from trainer.environment import world_of
        from trainer.evaluate import Measurement, measure
        from trainer.store_door import StoreDoor
        from trainer.suite import load_suites

        location = self._app.location()
        config = location.config
        what = Measurement(
            world=world_of(config.environment, config.llm),
            suite="gate",
            cases=load_suites(location, config.main, "gate")["gate"],
            trials=config.evaluation.trials,
            seed=config.evaluation.seed,
        )

        async def run(stages: Stages) -> float:
            async with StoreDoor(self._app.cwd, self._app.store) as door:
                return (await measure(door, ref, what, stages.progress)).record.accuracy

        with Stages() as stages:
            return asyncio.run(run(stages))
