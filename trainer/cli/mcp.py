"""Give the experiences to an agent that speaks MCP.

A host such as an editor or a coding agent starts this command by itself, and speaks with it over standard
input and output. Tools: search_experience,
read_experience and list_experiences; the experiences are resources, too. Only what is served is given: status
production and staging. Nothing is written, unless --report-outcome lets agents say how a task came out: then
report_outcome puts a rollout into the inbox (see xp inbox), with what was read and at which commit.

Every answer names the commit that it comes from, and is of the branch as it is now. When the branch has new
experiences, clients are told so. --at serves one commit and follows nothing.

With --embeddings a search goes by meaning, too: queries and pages are sent to the endpoint of [llm], whose
vectors are kept beside the repository. Take a model that is made for it. Where there are no vectors, words
decide alone.

It ends when its client closes standard input, or at once with Ctrl-C or SIGTERM: a report that was answered
is on record, any other one whole or not at all.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import click

from xpstore.cli.app import App, pass_app
from xpstore.cli.output import note

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from trainer.mcp_server.meaning import Meaning
    from xpstore.location import Location


@click.command("mcp", help=__doc__)
@click.option("--branch", default="", metavar="BRANCH", help="What to serve.  [default: main of xp.toml]")
@click.option("--at", "revision", default="", metavar="REV", help="Serve this commit, whatever comes.")
@click.option("--report-outcome", "reports", is_flag=True, help="Let agents put rollouts into the inbox.")
@click.option(
    "--embeddings",
    "by_meaning",
    is_flag=True,
    help="Search by meaning, too: [llm] embedding_model of xp.toml.",
)
@pass_app
def command(app: App, *, branch: str, revision: str, reports: bool, by_meaning: bool) -> None:
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
        async with (
            StoreDoor(app.cwd, app.store) as door,
            _meaning(location, by_meaning=by_meaning) as meaning,
        ):
            tools = Tools(door, ref, reports=reports, meaning=meaning)
            await McpServer(tools, location.config.id).run(watcher, _warn)
            await tools.close()

    # Whoever reads standard input in a thread cannot be interrupted; a kill leaves nothing half-written.
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        asyncio.run(work())
    finally:
        signal.signal(signal.SIGINT, before)


def _warn(text: str) -> None:
    note(f"warning: {text}")


@asynccontextmanager
async def _meaning(location: Location, *, by_meaning: bool) -> AsyncIterator[Meaning | None]:
    """Yield what searches by meaning, if that is wanted.

    Raises UsageError where no model is named, or xp.toml alone says where the key goes.
    """
    if not by_meaning:
        yield None
        return
    from trainer.asking.budget import Budget
    from trainer.asking.vectors import Vectors
    from trainer.llm import OpenAIChat
    from trainer.mcp_server.meaning import Meaning
    from xpstore.errors import UsageError

    settings = location.config.llm
    if not settings.embedding_model:
        raise UsageError("no model for embeddings is named", hint="embedding_model below [llm] in xp.toml")
    budget = Budget(settings)
    async with OpenAIChat(settings, budget.slots) as chat:
        vectors = Vectors(chat, budget, cache=location.repo)
        yield Meaning(vectors, settings.embedding_model, _warn)
        vectors.save()
