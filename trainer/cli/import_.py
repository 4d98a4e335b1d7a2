"""Turn recordings of other programs into one file of rollouts.

FILE may be results of tau-bench or tau2, trajectories in ATIF (Harbor), of SWE-agent or mini-swe-agent,
sessions of Claude Code, logs of Inspect (.json or .eval), spans of OpenInference (as Phoenix gives them, or
OTLP), chat messages in OpenAI's form, rollouts; each may be packed with gzip. What a record is, its content
tells, not the name of the file. With --format it is one of these or broken: atif, chat, claude-code, inspect,
mini-swe-agent, openinference, rollout, swe-agent, tau-bench, tau2.

Secrets and personal data are masked. Of images and files type, size and hash stay, of long outputs the
beginning and the end. Sessions that were resumed or compacted, trajectories that go on in another FILE, and
side agents are joined. A record that is broken is told, and the rest goes on.

Scores that are not in the recordings, nor in Harbor's verifier/reward.txt beside them, come with --scores:
CSV with headings such as "id,score", or JSON such as {"id": 0.5}. An id is that of a trajectory, session,
trace, instance or sample, FILE:LINE, or a file with one rollout. Without a score a rollout teaches what tools
refuse, and nothing of how tasks end.

xp train and xp watch read the same files directly.

JSON: {"output": file or null, "dry_run", "rollouts", "unscored", "files": {file: {"rollouts", "messages",
"tool_calls", "results", "errors", "scored", "passed", "formats": {format: rollouts}}}, "problems": [{"file",
"line": 0 for the whole file, "error", "kind": broken, duplicate, warning or score}]}
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import IO, TYPE_CHECKING

import click

from trainer.cli.recordings import reading_options, take_reading, tell_problems, unscored_line
from xpstore.cli.app import App, dry_run_option, json_option, pass_app
from xpstore.cli.output import counted, emit, paint
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from trainer.importers import Problem, Reading
    from trainer.importers.write import Counts

STDOUT = "-"
TITLES = {
    "broken": "Skipped {}:",
    "duplicate": "The same again, and left out: {}",
    "warning": "Read all the same:",
    "score": "Of the scores:",
}


@click.command("import", help=__doc__)
@click.argument("files", nargs=-1, metavar="FILE...", required=True)
@click.option("-o", "--output", metavar="FILE", help="Where the rollouts go; - is standard output.")
@reading_options
@dry_run_option
@json_option
@pass_app
def command(
    app: App,
    /,
    files: tuple[str, ...],
    *,
    output: str | None,
    dry_run: bool,
    as_json: bool,
    **reading: object,
) -> None:
    """Import; see the module's docstring."""
    if output is None and not dry_run:
        raise UsageError("where shall the rollouts go?", hint="-o rollouts.jsonl, or --dry-run to count only")
    if output == STDOUT and as_json:
        raise UsageError("-o - and --json both write to standard output", hint="name a file with -o")
    paths = [app.file(name) for name in files]
    target = _target(app, output, paths) if output and not dry_run else None
    done = _Import(paths, take_reading(app, reading))
    done.write(target, to_stdout=target is None and output == STDOUT and not dry_run)
    if as_json:
        emit(
            {
                "output": str(target) if target else None,
                "dry_run": dry_run,
                "rollouts": done.total,
                "unscored": done.unscored,
                "files": done.files(),
                "problems": done.rows(),
            }
        )
        return
    if output != STDOUT or dry_run:
        for line in done.lines(target, dict(zip(map(str, paths), files, strict=True))):
            click.echo(paint(line))
    done.tell()


def _target(app: App, output: str, paths: list[Path]) -> Path | None:
    """Return the file to write; None for standard output. Raises UsageError for one that is read, or none."""
    if output == STDOUT:
        return None
    target = app.cwd / output
    if target.is_dir():
        raise UsageError(f"'{output}' is a directory", hint="name a file, such as rollouts.jsonl")
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {target.parent}", hint="make it first")
    if target.exists() and any(target.samefile(path) for path in paths):
        raise UsageError(f"'{output}' is one of the files to read", hint="name another file")
    return target


class _Import:
    """One run: rollouts are written as they are read, counts and problems are kept."""

    def __init__(self, paths: list[Path], reading: Reading) -> None:
        self._paths = paths
        self._reading = reading
        self._problems: list[Problem] = []
        self._counts: dict[str, Counts] = {}

    def write(self, target: Path | None, *, to_stdout: bool) -> None:
        """Read the files, and write where there is anywhere to. Raises XpError, and leaves nothing half."""
        from trainer.importers import Problem, iter_rollouts, no_rollouts
        from trainer.importers.write import Counts, to_line, whole_file
        from trainer.redaction import redact_rollout

        self._counts = {str(path): Counts() for path in self._paths}
        out: AbstractContextManager[IO[bytes] | None] = nullcontext(sys.stdout.buffer if to_stdout else None)
        with whole_file(target) if target else out as stream:
            for item in iter_rollouts(self._paths, self._reading):
                if isinstance(item, Problem):
                    self._problems.append(item)
                    continue
                rollout = redact_rollout(item.rollout)
                self._counts[item.path].add(rollout, item.format)
                if stream is not None:
                    stream.write(to_line(rollout))
            if to_stdout:
                sys.stdout.buffer.flush()
            if not self.total:
                raise no_rollouts([p for p in self._problems if p.kind != "score"])

    @property
    def total(self) -> int:
        """How many rollouts there are."""
        return sum(counts.rollouts for counts in self._counts.values())

    @property
    def unscored(self) -> int:
        """How many of them have no score."""
        return self.total - sum(counts.scored for counts in self._counts.values())

    def files(self) -> dict[str, object]:
        """Return the counts by file."""
        from dataclasses import asdict

        return {path: asdict(counts) for path, counts in self._counts.items()}

    def rows(self, kind: str = "") -> list[dict[str, object]]:
        """Return the problems, or those of one kind."""
        found = [p for p in self._problems if kind in ("", p.kind)]
        return [{"file": p.path, "line": p.line, "error": p.why, "kind": p.kind} for p in found]

    def lines(self, target: Path | None, typed: dict[str, str]) -> Iterator[str]:
        """Yield the counts of each file, under the name that was typed, and what was written."""
        for path, counts in self._counts.items():
            name = typed.get(path, path)
            if not counts.rollouts:
                broken = any(p.path == path for p in self._problems)
                yield f"{name}: {'no rollout' if broken else 'part of what another file holds'}"
                continue
            said = [counted(counts.rollouts, "rollout"), counted(counts.messages, "message")]
            said += [counted(counts.tool_calls, "tool call"), counted(counts.results, "result")]
            said += [counted(counts.errors, "error"), counted(counts.scored, "score")]
            yield f"{name}: {', '.join(counts.formats)}: {', '.join(said)}"
        yield f"{counted(self.total, 'rollout')} {f'in {target}' if target else 'would be written'}"

    def tell(self) -> None:
        """Write to standard error what was left out, and what rollouts without a score are good for."""
        for kind, title in TITLES.items():
            rows = self.rows(kind)
            tell_problems(title.format(counted(len(rows), "record")), rows)
        if self.unscored:
            click.echo(unscored_line(self.unscored), err=True)
