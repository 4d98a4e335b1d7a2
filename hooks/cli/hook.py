"""What git's hooks call: check a commit, a message or a push.

NAME is the hook, ARGS are what git gives it; `xp hooks install` sets it up. pre-commit and pre-merge-commit
look at the staged experiences, commit-msg at trailers, pre-push at what the other side would refuse;
post-merge only tells. On a server, pre-receive (a whole push) and update (one ref) let main move only to
experiences that a gate has accepted, and evidence only grow.

Exit code 1 stops the commit or the push.
"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hooks.cli.opening import hooked_repository, variable
from xpstore.cli.app import App, pass_app
from xpstore.errors import RepositoryError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hooks.pre_push import Ungated
    from hooks.remark import Remark
    from xpstore.git import Repo


@click.command("hook", help=__doc__, context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("args", nargs=-1, type=click.UNPROCESSED, metavar="[ARGS]...")
@click.pass_context
@pass_app
def command(app: App, ctx: click.Context, name: str, args: tuple[str, ...]) -> None:
    """Check; see the module's docstring."""
    if name not in _HOOKS:
        raise UsageError(f"{name!r} is no hook that xp knows", hint=f"one of {', '.join(sorted(_HOOKS))}")
    repo = hooked_repository(app.cwd)
    if repo is None:
        raise RepositoryError(f"{name} was started in {app.cwd}, which is in no repository")
    if len(args) < _ARGUMENTS.get(name, 0):
        raise UsageError(f"{name} was not started as git starts it", hint="githooks(5) says how")
    remarks = _HOOKS[name](repo, args)
    for remark in remarks:
        for line in remark.lines():
            click.echo(line, err=True)
    ctx.exit(1 if any(remark.blocks for remark in remarks) else 0)


def _pre_commit(repo: Repo, args: Sequence[str]) -> Sequence[Remark]:
    from hooks import staged

    del args
    index = staged.Index(repo, variable("GIT_INDEX_FILE"))
    changes = index.changes()
    if not any(staged.homes(change.path) for change in changes):
        return ()  # no experience: the checks need not even be loaded
    from hooks import pre_commit

    return pre_commit.check(index, changes)


def _commit_msg(repo: Repo, args: Sequence[str]) -> Sequence[Remark]:
    from hooks import commit_msg

    return commit_msg.check(repo, Path(args[0]))


def _pre_push(repo: Repo, args: Sequence[str]) -> Sequence[Remark]:
    from hooks import pre_push

    del args
    wanted = repo.setting(pre_push.SETTING) or "warn"
    known: dict[str, Ungated] = {"warn": "warn", "block": "block", "pass": "pass"}
    if wanted not in known:
        raise UsageError(f"{pre_push.SETTING} is {wanted!r}", hint=f"one of {', '.join(known)}")
    return pre_push.check(repo, pre_push.parse(_said()), known[wanted])


def _post_merge(repo: Repo, args: Sequence[str]) -> Sequence[Remark]:
    from hooks import post_merge

    if args[0] == "1":
        return ()  # --squash: nothing was merged yet
    if sentence := post_merge.changed(repo):
        click.echo(sentence, err=True)
    return ()


def _pre_receive(repo: Repo, args: Sequence[str]) -> Sequence[Remark]:
    from hooks import receive, trust

    del args
    updates = receive.parse(_said())
    with _quarantine(repo):
        return receive.check(repo, updates, trust.read(repo))


def _update(repo: Repo, args: Sequence[str]) -> Sequence[Remark]:
    from hooks import receive, trust

    ref, old, new, *_ = args
    with _quarantine(repo):
        return receive.check(repo, [receive.update(ref, old, new)], trust.read(repo))


def _quarantine(repo: Repo) -> ExitStack:
    """Let the objects of a push be read that git keeps apart until it is accepted, in a block."""
    from xpstore import gitcli

    stack = ExitStack()
    apart = variable("GIT_QUARANTINE_PATH")
    if apart:
        repo.lend(apart)
        stack.enter_context(gitcli.lending(apart))
    return stack


def _said() -> str:
    """Return what git says on standard input."""
    return os.fsdecode(sys.stdin.buffer.read())


_HOOKS: dict[str, Callable[[Repo, Sequence[str]], Sequence[Remark]]] = {
    "pre-commit": _pre_commit,
    "pre-merge-commit": _pre_commit,
    "commit-msg": _commit_msg,
    "pre-push": _pre_push,
    "post-merge": _post_merge,
    "pre-receive": _pre_receive,
    "update": _update,
}
_ARGUMENTS = {"commit-msg": 1, "post-merge": 1, "update": 3}
