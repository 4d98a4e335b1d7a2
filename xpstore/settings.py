"""The tables of xp.toml as values. Each is a dataclass whose fields all have defaults, help and bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

MOST_TRIALS = 10_000
"""Attempts at each case that can be asked for."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Guards against a plan that does too much; a plan over one of them is refused."""

    items_per_plan: int = field(default=50, metadata={"help": "experiences that one plan may change"})
    deletes_per_plan: int = field(default=5, metadata={"help": "experiences that one plan may delete"})
    file_bytes: int = field(default=65_536, metadata={"help": "size of one experience, in bytes"})
    file_lines: int = field(default=1_000, metadata={"help": "length of one experience, in lines"})


@dataclass(frozen=True, slots=True)
class EnvironmentSettings:
    """The world that agents act in when cases are run."""

    name: str = ""
    """An installed environment (entry point of the group `xpstore.environments`); empty = none is set."""
    options: Mapping[str, JsonValue] = field(default_factory=dict, hash=False)
    """What only this environment knows; handed over as it stands."""


@dataclass(frozen=True, slots=True)
class EvaluationSettings:
    """How often `xp eval` tries a case where the command line does not say."""

    trials: int = field(
        default=4, metadata={"help": "attempts at each case", "least": 1, "most": MOST_TRIALS}
    )
    seed: int = field(default=1, metadata={"help": "what the seeds of the attempts are derived from"})


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """What `xp gate` and `xp land` ask of a candidate. All shares and points are fractions of 1."""

    suite: str = field(default="gate", metadata={"help": "the cases that decide, cases/<suite>.jsonl"})
    trials: int = field(
        default=4, metadata={"help": "attempts at each case, on either side", "least": 1, "most": MOST_TRIALS}
    )
    alpha: float = field(
        default=0.0425,
        metadata={"help": "chance of a wrong answer, per question", "least": 1e-6, "most": 0.5},
    )
    margin: float = field(
        default=0.1, metadata={"help": "a loss of the pass rate that must be ruled out", "most": 1}
    )
    min_effect: float = field(
        default=0.02, metadata={"help": "a smaller gain is not called progress", "most": 1}
    )
    min_discordant: int = field(
        default=5, metadata={"help": "cases that must differ before progress is claimed"}
    )
    retries: int = field(
        default=2, metadata={"help": "how often a trial is tried again that could not be scored", "most": 10}
    )
    max_unscored: float = field(
        default=0.05, metadata={"help": "more trials without a score, and nothing was measured", "most": 1}
    )
    inconclusive: str = field(
        default="hold",
        metadata={"help": "hold: it stays on its branch; land: it lands", "choices": ("hold", "land")},
    )
    leaks: str = field(
        default="refuse",
        metadata={
            "help": "lessons that quote a case of gate or test: refuse or warn",
            "choices": ("refuse", "warn"),
        },
    )


@dataclass(frozen=True, slots=True)
class DuplicateSettings:
    """Two experiences that say the same: looked for when one is planned, and when one lands."""

    threshold: float = field(
        default=0.8, metadata={"help": "share of their words that both have", "least": 0.3, "most": 1}
    )
    action: str = field(
        default="warn",
        metadata={
            "help": "warn: it is named; refuse: it does not land; ignore: nobody looks",
            "choices": ("warn", "refuse", "ignore"),
        },
    )


@dataclass(frozen=True, slots=True)
class SignSettings:
    """Plans are signed with the key that git's user.signingKey names."""

    format: str = field(
        default="none", metadata={"help": "none, ssh or gpg", "choices": ("none", "ssh", "gpg")}
    )

    @property
    def is_on(self) -> bool:
        """Whether plans are signed."""
        return self.format != "none"


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """The model that `xp train --learner llm` asks, behind any endpoint that speaks OpenAI's protocol."""

    model: str = field(default="", metadata={"help": "as the endpoint calls it"})
    base_url: str = field(
        default="",
        metadata={
            "help": "usually ends in /v1; empty: OPENAI_BASE_URL;"
            " another host needs git config --global xp.trustedModelHost"
        },
    )
    key_variable: str = field(
        default="OPENAI_API_KEY",
        metadata={"help": "the environment variable that has the key; another one needs that setting too"},
    )
    timeout: float = field(
        default=60.0, metadata={"help": "seconds to wait for one answer", "least": 0.01, "most": 3_600}
    )
    retries: int = field(
        default=2, metadata={"help": "how often an endpoint that fails is asked again", "most": 10}
    )
    parallel: int = field(
        default=16,
        metadata={
            "help": "calls at the same time, at most; fewer where the endpoint is slow",
            "least": 1,
            "most": 1_024,
        },
    )
    max_tokens_per_run: int = field(default=0, metadata={"help": "tokens that a run may use; 0: any number"})
    max_cost_per_run: float = field(
        default=0.0, metadata={"help": "what a run may cost, in the currency of the prices; 0: any sum"}
    )
    prompt_price: float = field(default=0.0, metadata={"help": "of a million tokens that are sent"})
    completion_price: float = field(default=0.0, metadata={"help": "of a million tokens that are written"})
    embedding_model: str = field(
        default="", metadata={"help": "finds similar pages by meaning; empty: by their words"}
    )
    context_tokens: int = field(
        default=16_000,
        metadata={"help": "what one question may hold; longer transcripts are cut", "least": 1_000},
    )
    max_gradients: int = field(
        default=16, metadata={"help": "edits that are merged in one call", "least": 2, "most": 1_000}
    )
