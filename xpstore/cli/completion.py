"""Print the shell code that completes `xp` on the tab key.

Put it where your shell reads it, for example: xp completion bash >> ~/.bashrc
"""

from __future__ import annotations

import click

from xpstore.errors import UsageError

SHELLS = ("bash", "zsh", "fish")


@click.command(help=__doc__)
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the code; see the module's docstring."""
    from click.shell_completion import get_completion_class

    from xpstore.cli.main import COMPLETE, cli

    completion = get_completion_class(shell)
    if completion is None:
        raise UsageError(f"there is no completion for '{shell}'")
    click.echo(completion(cli, {}, "xp", COMPLETE).source())
