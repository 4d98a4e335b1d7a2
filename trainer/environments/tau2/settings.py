"""What a tau2 service is set up with: whom it asks, how long a simulation may be, where tasks come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.environments.options import Options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

DOMAINS = ("airline", "retail", "telecom", "mock")
DATA_VARIABLE = "TAU2_DATA_DIR"
"""What tau2 itself calls the folder of its data; its older releases pass it over, we do not."""
KEY_VARIABLE = "OPENAI_API_KEY"
URL_VARIABLE = "OPENAI_BASE_URL"
NO_KEY = "no-key"
"""What a server on this machine is given where no key is set."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model behind an endpoint that speaks OpenAI's protocol."""

    model: str
    """As the endpoint calls it; empty = nobody is asked."""
    base_url: str = ""
    """Usually ends in /v1; empty = OpenAI's own."""
    key: str = field(default="", repr=False)
    temperature: float = 0.0
    prompt_price: float = 0.0
    """Of a million tokens that are sent; 0 = not known."""
    completion_price: float = 0.0


@dataclass(frozen=True, slots=True)
class Tau2Settings:
    """Everything about a service that decides what its rollouts are."""

    agent: Endpoint
    user: Endpoint
    judge: Endpoint
    """Says whether assertions in natural language hold; asked only for tasks that have some."""
    max_steps: int = 200
    """Messages of one simulation, tool calls and their results counted, as tau2 does."""
    max_errors: int = 10
    """Tool calls of one simulation that may go wrong."""
    call_timeout: float = 120.0
    """Seconds that one answer of a model may take."""
    retries: int = 2
    """How often a model that fails is asked again."""
    time_limit: float = 1800.0
    """Seconds that one simulation may take."""
    experience_tokens: int = 4000
    """Tokens of experience that the agent is given, at most."""
    parallel: int = 8
    """Simulations at once."""
    train_labels: bool = False
    """Whether cases of a train split may carry what a perfect agent does, for those who ask for it."""
    data: Path | None = None
    """A folder with tasks of its own; None = those that came with tau2."""

    @property
    def version(self) -> str:
        """The settings that change scores, for the key of an evaluation."""
        parts = [f"max_steps={self.max_steps}", f"max_errors={self.max_errors}"]
        parts += [f"experience_tokens={self.experience_tokens}"]
        for name, who in (("agent", self.agent), ("user", self.user), ("judge", self.judge)):
            parts += [f"{name}_temperature={who.temperature:g}"] if who.model else []
        return " ".join(parts)


def settings_of(options: Mapping[str, JsonValue], environ: Mapping[str, str]) -> Tau2Settings:
    """Return the settings.

    Options: the fields of `Tau2Settings`, and for each of agent, user and judge `<who>_model`,
    `<who>_base_url`, `<who>_key_variable`, `<who>_temperature`, `<who>_prompt_price` and
    `<who>_completion_price`. What is not said of user and judge is as for the agent, but for temperatures.
    Keys are read from `environ` and stand in no option. Raises TypeError and ValueError, with the option.
    """
    given = Options(options)
    agent = _endpoint(given, "agent", None, environ)
    user, judge = (_endpoint(given, who, agent, environ) for who in ("user", "judge"))
    data = given.text("data", environ.get(DATA_VARIABLE, ""))
    settings = Tau2Settings(
        agent=agent,
        user=user,
        judge=judge,
        max_steps=given.whole("max_steps", 200, least=1),
        max_errors=given.whole("max_errors", 10, least=1),
        call_timeout=given.number("call_timeout", 120.0, least=0.1, most=3_600),
        retries=given.whole("retries", 2, least=0),
        time_limit=given.number("time_limit", 1800.0, least=0.1, most=86_400),
        experience_tokens=given.whole("experience_tokens", 4000, least=0),
        parallel=given.whole("parallel", 8, least=1),
        train_labels=given.text("train_labels", "no", ("no", "yes")) == "yes",
        data=Path(data) if data else None,
    )
    given.check_all_read()
    return settings


def _endpoint(given: Options, who: str, like: Endpoint | None, environ: Mapping[str, str]) -> Endpoint:
    """Return one endpoint. A key goes where its options say; the agent's only to the agent's own address."""
    model = given.text(f"{who}_model", like.model if like else "")
    base_url = given.text(f"{who}_base_url", like.base_url if like else environ.get(URL_VARIABLE, ""))
    variable = given.text(f"{who}_key_variable", "")
    own = environ.get(variable or KEY_VARIABLE, "").strip()
    if like and not variable:
        own = like.key if base_url == like.base_url else ""
    return Endpoint(
        model=model,
        base_url=base_url,
        key=own or NO_KEY,
        temperature=given.number(f"{who}_temperature", 0.0, least=0, most=2),
        prompt_price=given.number(f"{who}_prompt_price", like.prompt_price if like else 0.0, least=0),
        completion_price=given.number(
            f"{who}_completion_price", like.completion_price if like else 0.0, least=0
        ),
    )
