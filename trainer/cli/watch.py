"""Tell when a branch has new experiences, or learn from a folder.

Without DIR it follows a branch: a line per new snapshot, for agents that read their experiences again. With
--exec it runs a command instead: split into words as a shell does, but without a shell. It finds in its
environment XP_COMMIT, XP_PREVIOUS (the commit before), XP_TREE (the experiences) and XP_CHANGED (names, one
per line; unset where they are too many to pass on, then git diff has them). One command runs at a time. What
changes meanwhile is handed over when it has ended, the last state only. One that fails is reported, and
watching goes on; with --once its exit code is that of xp.

With DIR it learns from the recordings (.json, .jsonl, .ndjson, .traj, .eval, and these with .gz) that are put
there or below, as xp train reads them, each when nobody writes to it any more. They are on record before
anything is made of them, and what is in the inbox is taken up (see xp inbox). The lessons are commits of a
candidate, which xp land accepts. Copies, renamed files and files that grow teach nothing twice. A file that
cannot be read is told of, and not tried again before it changes. With --once it ends when nothing is left;
exit code 1 where something could not be read or learned from.

Ctrl-C ends with 130. What is being learned is finished first; the rest stays in the inbox.

JSON, one object per line: {"commit", "tree", "changed": [name], "previous": commit}, and with --exec
"exit_code" of the command; with DIR {"file", "rollouts", "plans": {plan: commit}, "nothing": {rollout: why},
"already": how many were learned before, "unscored": how many have no score, "problems": [{"line", "error"}],
"remarks": what was read all the same, "failures": {rollout: why}}
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from trainer.cli.learner import learner_options, take_choice
from trainer.cli.recordings import reading_options, take_reading, unscored_line
from xpstore.cli.app import App, pass_app
from xpstore.cli.follow import INTERRUPTED, Following, follow
from xpstore.cli.output import counted, note, paint, shortened
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from trainer.importers import Reading
    from trainer.strategies import ModelChoice
    from trainer.watch_folder import FileReport

SHOWN = 5


@click.command(help=__doc__)
@click.argument("folder", metavar="[DIR]", default="")
@click.option("--branch", default="", metavar="BRANCH", help="What to follow.  [default: main of xp.toml]")
@click.option("--since", default="", metavar="REV", help="Begin with what changed since.  [default: now]")
@click.option("--exec", "line", metavar="CMD", help="Run this for each new snapshot.")
@click.option("--once", is_flag=True, help="End after the first new snapshot, or what is in DIR.")
@reading_options
@learner_options
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object per line.")
@click.pass_context
@pass_app
def command(  # noqa: PLR0913  # the options of the verb
    app: App,
    ctx: click.Context,
    /,
    folder: str,
    *,
    branch: str,
    since: str,
    line: str | None,
    once: bool,
    as_json: bool,
    **learner: object,
) -> None:
    """Watch; see the module's docstring."""
    choice = take_choice(app, learner)
    reading = take_reading(app, learner)
    if not folder:
        if reading.form or reading.scores:
            raise UsageError("--format and --scores work with DIR only", hint="name the directory")
        if choice is not None:
            raise UsageError("--learner works with DIR only", hint="name the directory to learn from")
        ctx.exit(follow(app, Following(branch, since, line, once, as_json)))
    for name, given in (("--since", since), ("--exec", line)):
        if given:
            raise UsageError(f"{name} works without DIR only", hint=f"see '{ctx.command_path} --help'")
    app.location()  # a missing store is reported before anything heavy is loaded
    told = Told(as_json=as_json, judged=choice is not None)
    try:
        _learn(app, folder, branch, choice, told, once=once, reading=reading)
    except KeyboardInterrupt:  # that is how it is meant to end
        ctx.exit(INTERRUPTED)
    ctx.exit(0 if told.is_good else 1)


def _learn(  # noqa: PLR0913  # the options with DIR
    app: App,
    folder: str,
    branch: str,
    choice: ModelChoice | None,
    told: Told,
    *,
    once: bool,
    reading: Reading,
) -> None:

    import asyncio

    from trainer.components.streaming_trainer import StreamingPolicyTrainerConfig
    from trainer.drop_folder import DropFolder
    from trainer.streaming import get_streaming_policy_trainer
    from trainer.watch_folder import AT_ONCE, watch_folder

    files = DropFolder((app.cwd / folder).resolve())
    config = StreamingPolicyTrainerConfig(max_gradients_per_update=AT_ONCE)  # a file is there at once

    async def work() -> None:
        async with get_streaming_policy_trainer(
            app.cwd, store=app.store, branch=branch, choice=choice, config=config
        ) as trainer:
            if once:
                await trainer.recover()
            await watch_folder(trainer, files, told.tell, once=once, reading=reading)

    asyncio.run(work())


@dataclass(slots=True)
class Told:
    """Says what came of each file, and remembers whether all was good."""

    as_json: bool
    judged: bool = False
    """Whether a model scores what has no score."""
    is_good: bool = True

    def tell(self, report: FileReport) -> None:
        """Write what came of a file."""
        self.is_good &= report.is_good
        _tell(report, as_json=self.as_json, judged=self.judged)


def _tell(report: FileReport, *, as_json: bool, judged: bool) -> None:
    if as_json:
        row = {
            "file": report.file,
            "rollouts": report.rollouts,
            "plans": report.plans,
            "nothing": report.nothing,
            "already": report.already,
            "unscored": report.unscored,
            "problems": [{"line": p.line, "error": p.why} for p in report.problems],
            "remarks": [{"line": p.line, "error": p.why} for p in report.remarks],
            "failures": report.failures,
        }
        click.echo(json.dumps(row))
        return
    said = [counted(report.rollouts, "rollout")]
    said += [f"{report.already} already learned"] if report.already else []
    said += [counted(len(report.plans), "commit")] if report.plans else []
    said += [f"{len(report.nothing)} taught nothing"] if report.nothing else []
    click.echo(f"{paint(report.file, 'yellow')}: {', '.join(said)}")
    if report.unscored:
        note(unscored_line(report.unscored, judged=judged))
    for remark in report.remarks[:SHOWN]:
        note(f"remark: {remark}")
    errors = [str(problem) for problem in report.problems]
    errors += [f"{shortened(rollout)}: {why}" for rollout, why in report.failures.items()]
    for error in errors[:SHOWN]:
        note(f"error: {error}")
    if len(errors) > SHOWN:
        note(f"error: {len(errors) - SHOWN} more in {report.file} (--json lists all)")
