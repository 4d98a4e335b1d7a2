"""The verbs of `xp`: found through the entry-point group `xpstore.commands`, imported when used.

A verb is an entry point `<verb> = "<module>:<click command>"`. The first line of the module's docstring
is its line in `xp --help`; it is read from the source, so listing the verbs imports none of them.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from xpstore.errors import RepositoryError, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from click.shell_completion import CompletionItem

GROUP = "xpstore.commands"

# How `xp --help` lists the verbs; those that are not named here come last, under a heading of their own.
LAYOUT: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "Start and learn",
        ("demo", "init", "import", "train", "inbox", "eval", "gate", "land", "resolve", "bench"),
    ),
    ("See what was learned", ("log", "show", "diff", "blame", "status", "stats")),
    ("Give it to an agent", ("context", "search", "export", "watch", "mcp", "serve", "env")),
    ("Change your mind", ("bisect", "revert", "promote", "deprecate", "archive", "forget")),
    ("Share it", ("sync", "publish")),
    (
        "Check and set up",
        ("verify", "repair", "maintain", "hooks", "hook", "ci", "merge-driver", "completion"),
    ),
)
OTHERS = "Further commands"


def installed() -> dict[str, EntryPoint]:
    """Return the verbs that are installed, by name; of two with one name, the store's own wins."""
    from importlib.metadata import entry_points  # reads every package that is installed

    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=GROUP):
        if entry.name not in found or entry.module.partition(".")[0] == "xpstore":
            found[entry.name] = entry
    return found


def _own(name: str) -> click.Command | None:
    """Return one of the store's own verbs, which win anyway: asking all packages takes too long."""
    known = any(name in names for _, names in LAYOUT)
    module = name.replace("-", "_")
    if not known or not Path(__file__).with_name(f"{module}.py").is_file():
        return None
    command = getattr(import_module(f"xpstore.cli.{module}"), "command", None)
    return command if isinstance(command, click.Command) else None


def summary(entry: EntryPoint) -> str:
    """Return the first line of the docstring of the verb's module, without importing anything."""
    import ast

    source = _source(entry.module)
    if source is None:
        return ""
    docstring = ast.get_docstring(ast.parse(source.read_bytes())) or ""
    return docstring.partition("\n")[0].rstrip(".")


def _source(module: str) -> Path | None:
    top, *rest = module.split(".")
    spec = find_spec(top)  # a name without dots: found, not imported
    if spec is None:
        return None
    if not rest:
        return Path(spec.origin) if spec.origin and spec.origin.endswith(".py") else None
    for folder in spec.submodule_search_locations or ():
        source = Path(folder, *rest)
        for file in (source.with_suffix(".py"), source / "__init__.py"):
            if file.is_file():
                return file
    return None


class VerbGroup(click.Group):
    """A click group whose sub-commands are the installed verbs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order of their names (shell completion asks for it)."""
        del ctx
        return sorted(installed())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one verb, or None where there is none of this name.

        Raises RepositoryError where its module does not import or holds no command.
        """
        del ctx
        own = _own(cmd_name)
        if own is not None:
            return own
        entry = installed().get(cmd_name)
        if entry is None:
            return None
        try:
            command = entry.load()
        except (ImportError, AttributeError) as error:
            raise RepositoryError(
                f"the verb '{cmd_name}' ({entry.value}) does not load: {error}",
                hint="install its package again, or uninstall it",
            ) from error
        if not isinstance(command, click.Command):
            raise RepositoryError(f"the verb '{cmd_name}' ({entry.value}) is no click command")
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return verbs and options that begin so; no verb is imported, a broken one does no harm."""
        from click.shell_completion import CompletionItem

        verbs = [
            CompletionItem(name, help=summary(entry))
            for name, entry in sorted(installed().items())
            if name.startswith(incomplete)
        ]
        return verbs + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb that the arguments name. Raises UsageError with the closest one as the hint."""
        name = args[0]
        if _own(name) is None and not ctx.resilient_parsing and name not in (verbs := installed()):
            from difflib import get_close_matches

            close = get_close_matches(name, verbs, 1)
            hint = f"did you mean 'xp {close[0]}'?" if close else "'xp --help' lists the commands"
            raise UsageError(f"'{name}' is not an xp command", hint=hint)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs under the headings of LAYOUT."""
        del ctx
        verbs = installed()
        known = {name for _, names in LAYOUT for name in names}
        others = tuple(sorted(verbs.keys() - known))
        width = max(map(len, verbs), default=0)
        for title, names in (*LAYOUT, (OTHERS, others)):
            rows = [(f"{name:{width}}", summary(verbs[name])) for name in names if name in verbs]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
