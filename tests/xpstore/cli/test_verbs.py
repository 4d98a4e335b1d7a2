from __future__ import annotations

import re
import subprocess
import sys

import click
import pytest

from xpstore.cli.main import cli, run
from xpstore.cli.verbs import LAYOUT, OTHERS, installed, summary
from xpstore.errors import RepositoryError


@pytest.fixture
def plug_in(tmp_path, monkeypatch):
    """Install a third party's distribution with the verbs of `entries`, whose module holds `source`."""

    def install(entries: str, source: str = "") -> None:
        site = tmp_path / "site"
        info = site / "xp_weather-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: xp-weather\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[xpstore.commands]\n{entries}\n")
        package = site / "xp_weather"
        package.mkdir()
        (package / "__init__.py").write_text("raise AssertionError('listing verbs must import none')\n")
        (package / "verb.py").write_text('"""Tell the weather of the store."""\n')
        (site / "xp_rain.py").write_text(source)
        monkeypatch.syspath_prepend(str(site))
        monkeypatch.delitem(sys.modules, "xp_rain", raising=False)

    return install


RAIN = '''"""Say rain."""
import click

from xpstore.errors import RefusedError

@click.command(help=__doc__)
@click.option("--no", is_flag=True)
@click.pass_context
def command(ctx, no):
    if no:
        raise RefusedError("no rain", hint="Wait.")
    click.echo(f"rain in {ctx.obj.cwd.name}")
    ctx.exit(3)
'''


def test_every_verb_of_the_layout_is_installed_and_has_a_line_that_fits():
    verbs = installed()
    assert {name for _, names in LAYOUT for name in names} <= verbs.keys()
    for name, entry in verbs.items():
        assert 8 < len(summary(entry)) <= 64, name
        assert entry.load().name in {name, "command"}


def helps(command: click.Command, ctx: click.Context, words: tuple[str, ...]):
    """Yield the words and the help of a command and of all below it."""
    here = click.Context(command, info_name=words[-1], parent=ctx)
    yield " ".join(words), command.get_help(here)
    for name, below in getattr(command, "commands", {}).items():
        yield from helps(below, here, (*words, name))


def test_every_help_shows_whole_lines_and_no_marks_of_its_source():
    for verb, entry in installed().items():
        for words, text in helps(entry.load(), click.Context(cli, info_name="xp"), (verb,)):
            assert "\\b" not in text, words
            assert not re.search(r"[a-z]\.\.\.$", text, re.MULTILINE), words


def test_help_groups_verbs_and_imports_none_of_them(plug_in, capsys):
    plug_in("weather = xp_weather.verb:command\nghost = no_such_module:command")
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    assert out.index("Start and learn:") < out.index("  init") < out.index("  log")
    assert f"{OTHERS}:" in out
    assert "Tell the weather of the store" in out
    assert "ghost" in out


def test_help_and_listing_load_nothing_heavy():
    code = (
        "import sys; from xpstore.cli.main import run; code = run(['--help']);"
        "print(sorted(m for m in sys.modules if m.startswith(('xpstore.', 'trainer', 'rich', 'pydantic',"
        " 'pygit2', 'openai', 'httpx')) and not m.startswith('xpstore.cli.')), file=sys.stderr);"
        "sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "['xpstore.cli', 'xpstore.errors', 'xpstore.names']"


def test_a_third_party_verb_runs_with_the_options_before_it(plug_in, tmp_path, capsys):
    plug_in("rain = xp_rain:command", RAIN)
    assert run(["-C", str(tmp_path), "rain"]) == 3
    assert capsys.readouterr().out == f"rain in {tmp_path.name}\n"
    assert run(["rain", "--no"]) == 1
    assert capsys.readouterr().err == "error: no rain\nhint: Wait.\n"
    assert run(["rain", "-h"]) == 0
    assert "Say rain." in capsys.readouterr().out


def test_a_third_party_cannot_replace_a_verb_of_the_store(plug_in):
    plug_in("log = xp_rain:command", RAIN)
    assert installed()["log"].module == "xpstore.cli.log"


@pytest.mark.parametrize(
    ("value", "source"), [("no_such_module:command", ""), ("xp_rain:command", "command = 1")]
)
def test_a_broken_verb_is_an_error_of_its_own(plug_in, value, source):
    plug_in(f"rain = {value}", source)
    with pytest.raises(RepositoryError, match="rain"):
        cli.get_command(click.Context(cli), "rain")
