"""Print the shell code that completes `xp` on the tab key.

Put it where your shell reads it, for example: xp completion bash >> ~/.bashrc

JSON: {"shell", "code"}
"""

from __future__ import annotations

import click

from xpstore.cli.app import json_option
from xpstore.cli.output import emit
from xpstore.errors import UsageError

SHELLS = ("bash", "zsh", "fish")


@click.command(help=__doc__)
@click.argument("shell", type=click.Choice(SHELLS))
@json_option
def command(shell: str, *, as_json: bool) -> None:
    """Print the code; see the module's docstring."""
    from click.shell_completion import get_completion_class

    from xpstore.cli.main import COMPLETE, cli

    completion = get_completion_class(shell)
    if completion is None:
        raise UsageError(f"there is no completion for '{shell}'")
    code = completion(cli, {}, "xp", COMPLETE).source()
    if as_json:
        emit({"shell": shell, "code": code})
    else:
        click.echo(code)
