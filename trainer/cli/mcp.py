"""Give the experiences to an agent that speaks MCP, over standard input and output.

A host such as an editor or a coding agent starts this command by itself. Tools: search_experience,
read_experience and list_experiences; the experiences are resources, too. Only what is served is given: status
production and staging. Nothing is written, unless --report-outcome lets agents say how a task came out: then
report_outcome puts a rollout into the inbox (see xp inbox), with what was read and at which commit.

Every answer names the commit that it comes from, and is of the branch as it is now. When the branch has new
experiences, clients are told so. --at serves one commit and follows nothing.

It ends when its client closes standard input, or at once with Ctrl-C or SIGTERM: a report that was answered
is on record, any other one whole or not at all.
"""

from __future__ import annotations

import click

from xpstore.cli.app import App, pass_app
from xpstore.cli.output import note


@click.command("mcp", help=__doc__)
@click.option("--branch", default="", metavar="BRANCH", help="What to serve.  [default: main of xp.toml]")
@click.option("--at", "revision", default="", metavar="REV", help="Serve this commit, whatever comes.")
@click.option("--report-outcome", "reports", is_flag=True, help="Let agents put rollouts into the inbox.")
@pass_app
def command(app: App, *, branch: str, revision: str, reports: bool) -> None:
    """Serve; see the module's docstring."""
    import asyncio
    import signal
    import sys

    from trainer.cli.extra import extra
    from xpstore.errors import UsageError

    if branch and revision:
        raise UsageError(
            "--branch and --at exclude each other", hint="--at serves one commit, and follows none"
        )
    location = app.location()  # a missing store is reported before anything heavy is loaded
    ref = location.resolve(revision) if revision else branch

    with extra("mcp", frozenset({"mcp", "mcp_types"}), "xp mcp"):
        from trainer.mcp_server.server import McpServer

    from trainer.mcp_server.tools import Tools
    from trainer.store_door import StoreDoor
    from xpstore.watch import ExperienceWatcher

    watcher = None if revision else ExperienceWatcher(app.cwd, branch, store=app.store)
    if sys.stdin.isatty():
        note("serving over standard input and output, as a host of MCP starts it; Ctrl-D ends it")

    async def work() -> None:
        async with StoreDoor(app.cwd, app.store) as door:
            tools = Tools(door, ref, reports=reports)
            await McpServer(tools, location.config.id).run(watcher, lambda text: note(f"warning: {text}"))
            await tools.close()

    # Whoever reads standard input in a thread cannot be interrupted; a kill leaves nothing half-written.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(work())
