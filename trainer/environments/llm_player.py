"""Lets a model act in an environment: `[environment.options] agent = "llm"`.

Options: `model`, `base_url` and `key_variable`, each the store's `[llm]` where it is not given, and
trusted no more than those (`trainer.asking.trusted`); `temperature` (0 to 2) and `max_tokens`, how long one
reply may be.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from trainer.asking.abilities import Abilities
from trainer.asking.budget import Budget
from trainer.asking.open import check_trusted, open_asker
from trainer.components.rollout_executor import LLMAgentRolloutExecutor
from trainer.environments.llm_agent import NAME, Manner, prompts
from xpstore.errors import UsageError
from xpstore.settings import LlmSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from trainer.asking.tape import Tape
    from trainer.environments.agent import AgentMaker
    from trainer.environments.options import Options
    from trainer.interfaces import RolloutExecutor

TEMPERATURE = 0.7
"""Above 0: the trials of a case are to be draws of their own."""
MAX_TOKENS = 1_024


@dataclass(frozen=True, slots=True)
class LLMPlayer:
    """Player with the model that options and store name."""

    own: LlmSettings
    """What the options say; fields that they leave open are empty."""
    temperature: float
    max_tokens: int
    settings: LlmSettings = field(default_factory=LlmSettings)
    """The store's, with `own` in it; without a model before `with_model`."""
    tape: Tape | None = None

    @classmethod
    def of(cls, options: Options) -> LLMPlayer:
        """Return the player that options describe. Raises TypeError and ValueError for what is wrong."""
        own = LlmSettings(
            model=options.text("model", ""),
            base_url=options.text("base_url", ""),
            key_variable=options.text("key_variable", ""),
        )
        return cls(
            own=own,
            temperature=options.number("temperature", TEMPERATURE, least=0, most=2),
            max_tokens=options.whole("max_tokens", MAX_TOKENS, least=1),
        )

    @property
    def name(self) -> str:
        """Name and version of its agents."""
        return NAME

    @property
    def model(self) -> str:
        """The model's name."""
        return self.settings.model or self.own.model

    @property
    def version(self) -> str:
        """What is sent beside the conversation."""
        told = [f"{p.name}/{p.version}" for p in prompts()]
        return " ".join((f"temperature={self.temperature}", f"max_tokens={self.max_tokens}", *told))

    @property
    def modules(self) -> tuple[str, ...]:
        """What speaks to the model."""
        return ("trainer.asking", "trainer.components.rollout_executor", "trainer.llm")

    def with_model(self, llm: LlmSettings, tape: Tape | None = None) -> LLMPlayer:
        """Return the player with the store's settings where its options have none of their own.

        Raises UsageError where nobody names a model.
        """
        given = {n: v for n in ("model", "base_url", "key_variable") if (v := getattr(self.own, n))}
        settings = replace(llm, **given)
        if not settings.model:
            raise UsageError(
                "an agent with a model is to act, and nobody says which model",
                hint='`model = "…"` in `[environment.options]` or `[llm]` of xp.toml',
            )
        return replace(self, settings=settings, tape=tape)

    def executor(self, run: Callable[[AgentMaker], RolloutExecutor]) -> RolloutExecutor:
        """Return an executor whose calls share one budget, and what one has found out about the endpoint.

        Raises UsageError, before anything is run, where xp.toml alone says where the key goes.
        """
        check_trusted(self.settings, self.tape)
        budget, abilities = Budget(self.settings), Abilities()
        open_model = partial(open_asker, self.settings, tape=self.tape, budget=budget, abilities=abilities)
        manner = Manner(self.settings.model, self.temperature, self.max_tokens)
        return LLMAgentRolloutExecutor(open_model, manner, run)
