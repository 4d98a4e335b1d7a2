"""Who learns and who decides, as the command line says it; what a model was asked, in lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import click

from xpstore.cli.output import counted, paint
from xpstore.errors import FormatError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from trainer.model_estimate import ModelEstimate
    from trainer.model_use import ModelUse, StageUse
    from trainer.strategies import ModelChoice
    from xpstore.cli.app import App
    from xpstore.location import Location
    from xpstore.resolver import Resolver

    Decorated = TypeVar("Decorated", bound=Callable[..., None])

OFFLINE, LLM = "offline", "llm"
WITH_MODEL = ("model", "record", "replay")
"""The options that make no sense without a model; nor does --llm."""
ELSEWHERE = {
    "model": "--model names it",
    "base_url": "OPENAI_BASE_URL, or base_url in xp.toml, says it",
    "key_variable": "key_variable in xp.toml says it",
}
"""The keys of [llm] that --llm does not take: which model, and who gets the key."""


def learner_options(command: Decorated) -> Decorated:
    """Add the options that say who learns."""
    return _model_options("--learner", "Learn by statistics, or by asking a model.", command)


def resolver_options(command: Decorated) -> Decorated:
    """Add the options that say who decides what both sides of a merge changed."""
    return _model_options("--resolver", "What both changed: keep both, or ask a model; checked.", command)


def _model_options(name: str, what: str, command: Decorated) -> Decorated:
    for option in (
        click.option(
            "--llm",
            multiple=True,
            metavar="KEY=VALUE",
            help="Another value than [llm] of xp.toml has: timeout=300, parallel=4, context_tokens=4000, …",
        ),
        click.option(
            "--replay", metavar="DIR", help="Take the model's answers from a recording: no network."
        ),
        click.option("--record", metavar="DIR", help="Record what the model is asked and answers, masked."),
        click.option("--model", metavar="NAME", help="The model to ask.  [default: as xp.toml says]"),
        click.option(name, type=click.Choice([OFFLINE, LLM]), default=OFFLINE, show_default=True, help=what),
    ):
        command = option(command)
    return command


def take_choice(app: App, given: dict[str, object], name: str = "learner") -> ModelChoice | None:
    """Take the options of a learner, or of a resolver, out of those given; None = no model is asked.

    Raises UsageError where they do not go together.
    """
    who = given.pop(name)
    texts = {key: str(given.pop(key) or "") for key in WITH_MODEL}
    changes = _changes(given.pop("llm", ()))
    if who != LLM:
        for key, text in {**texts, "llm": changes}.items():
            if text:
                raise UsageError(f"--{key} needs a {name} with a model", hint=f"add --{name} {LLM}")
        return None
    if texts["record"] and texts["replay"]:
        raise UsageError("--record and --replay exclude each other", hint="a replay asks nothing new")

    from trainer.strategies import ModelChoice

    record, replay = (app.cwd / texts[key] if texts[key] else None for key in ("record", "replay"))
    return ModelChoice(model=texts["model"], record=record, replay=replay, changes=changes)


def _changes(lines: object) -> tuple[tuple[str, object], ...]:
    """Return what --llm says, by key. Raises UsageError."""
    given = [str(line) for line in lines] if isinstance(lines, tuple) else []
    if not given:
        return ()

    from xpstore.config import parse_llm

    try:
        changes = tuple(parse_llm(given, "--llm").items())
    except FormatError as error:
        raise UsageError(error.message, hint=error.hint) from error
    for key, _ in changes:
        if key in ELSEWHERE:
            raise UsageError(f"--llm does not take `{key}`", hint=ELSEWHERE[key])
    return changes


def take_resolver(app: App, location: Location, given: dict[str, object]) -> Resolver | None:
    """Take the options of `resolver_options` out of those given; None = the rule that keeps both sides.

    Raises UsageError where no model is named, xp.toml alone says where the key goes, or the options do not
    go together.
    """
    choice = take_choice(app, given, "resolver")
    if choice is None:
        return None

    from trainer.asking.budget import Budget
    from trainer.asking.open import check_trusted, open_asker
    from trainer.llm_learner.resolver import LLMResolver
    from xpstore.derived import answers

    settings, tape = choice.settings(location.config), choice.tape()
    check_trusted(settings, tape)
    budget, folder = Budget(settings), answers(location.repo)
    return LLMResolver.alone(
        lambda: open_asker(settings, tape=tape, answers=folder, budget=budget),
        settings.model,
        context_tokens=settings.context_tokens,
        salt=tape.salt(location.config.id) if tape else location.config.id,
    )


def describe_use(use: ModelUse | None) -> Iterator[str]:
    """Yield what a model was asked: the sum, and the stages."""
    if use is None:
        return
    stages = [f"{name} {_counts(stage)}" for name, stage in use.stages.items()]
    yield paint(f"{use.name}: {_sum(use.total)}{_money(use.total.cost)}")
    if stages:
        yield paint(f"  {'; '.join(stages)}")
    if use.fewest_at_once:
        least = counted(use.fewest_at_once, "question")
        yield paint(f"  it could not keep up: for a while it was asked no more than {least} at once")


def describe_estimate(estimate: ModelEstimate | None) -> Iterator[str]:
    """Yield what a model would be asked."""
    if estimate is None:
        return
    sent, written = (_about(number) for number in (estimate.prompt_tokens, estimate.completion_tokens))
    tokens = f"about {sent:,} tokens sent, {written:,} written"
    read = f"{counted(estimate.rollouts, 'rollout')} to read"
    yield paint(
        f"{estimate.name}: {read}, at most {counted(estimate.calls, 'call')}, {tokens}{_money(estimate.cost)}"
    )


def _about(number: int) -> int:
    """Return a number of two digits and zeros: an estimate claims no more."""
    scale: int = 10 ** max(len(str(number)) - 2, 0)
    return round(number / scale) * scale


def _sum(total: StageUse) -> str:
    parts = [counted(total.calls, "call")]
    parts += [f"{total.prompt_tokens:,} tokens sent, {total.completion_tokens:,} written"]
    parts += [f"{counted(total.reused, 'answer')} on record"] if total.reused else []
    parts += [f"{counted(total.repaired, 'answer')} asked for again"] if total.repaired else []
    mended = ", ".join(f"{what} {count}" for what, count in total.mended.items())
    parts += [f"put right: {mended}"] if mended else []
    failed = sum(total.failures.values())
    why = ", ".join(f"{fault} {count}" for fault, count in total.failures.items())
    parts += [f"{counted(failed, 'question')} without an answer ({why})"] if failed else []
    return ", ".join(parts)


def _counts(stage: StageUse) -> str:
    reused = f" + {stage.reused} on record" if stage.reused else ""
    return f"{stage.calls}{reused}"


def _money(cost: float) -> str:
    return f", cost {cost:.4f}" if cost else ""
