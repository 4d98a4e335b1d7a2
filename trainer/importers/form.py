"""What a reader of one format is, and what it gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pydantic import JsonValue

    from trainer.domain import Rollout


@dataclass(frozen=True, slots=True)
class Found:
    """A rollout, and the ids by which a file of scores may name it, the most exact first."""

    rollout: Rollout
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something within a record that is to be told; what else is in the record goes on."""

    why: str
    kind: Literal["broken", "warning"] = "broken"


@dataclass(frozen=True, slots=True)
class Format:
    """How recordings of one program are recognised and read."""

    name: str
    """What `--format` takes."""
    title: str
    """What `Imported.format` and the metadata of rollouts say."""
    matches: Callable[[dict[str, JsonValue]], bool]
    read: Callable[[dict[str, JsonValue]], Iterable[Found | Flaw]]
    """Raises `RecordError` where there is no rollout in the record."""


def texts(*values: JsonValue) -> tuple[str, ...]:
    """Return ids as texts, each once: those that are texts or whole numbers and not empty."""
    known = [str(value) for value in values if isinstance(value, str | int) and not isinstance(value, bool)]
    return tuple(dict.fromkeys(value for value in known if value))


def chosen(source: dict[str, JsonValue], *keys: str) -> dict[str, JsonValue]:
    """Return these keys of an object, as far as they say anything."""
    return {key: source[key] for key in keys if source.get(key) not in (None, "", [], {})}
