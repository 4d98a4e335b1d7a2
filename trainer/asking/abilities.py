"""What an endpoint can read, found out by asking and remembered: the form of an answer, and parameters.

An endpoint that refuses a request for its form is asked in a plainer one. What it took then is what it is
asked in from then on, also by later runs, for a week: endpoints are upgraded.
"""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from trainer.asking.files import put
from xpstore.hashing import content_id

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pydantic import JsonValue

    from trainer.asking.chat import ChatRequest

Mode = Literal["json_schema", "json_object", "prompt"]
MODES: tuple[Mode, ...] = get_args(Mode)
REMEMBERED = 7 * 86_400.0
"""Seconds for which it is remembered what an endpoint cannot read."""
_REJECTED = frozenset({400, 415, 422, 501})
_OMITTABLE = ("max_tokens", "temperature", "seed")
_NOT_TAKEN = re.compile(
    r"unsupported|not (?:supported|allowed|permitted|support)|unknown|unrecognized|unexpected|extra",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"context[ _](?:length|limit|size|window)|too (?:long|large)|too many .{0,20}tokens"
    r"|(?:exceed|maximum).{0,40}(?:length|tokens)",
    re.IGNORECASE,
)
_ABOUT_FORM = ("response_format", "json_schema", "json_object", "schema", "grammar")


@dataclass(frozen=True, slots=True)
class Ability:
    """The most that an endpoint is known, or hoped, to read."""

    mode: Mode = "json_schema"
    omit: frozenset[str] = frozenset()
    """Parameters that it does not take."""

    def applied(self, request: ChatRequest, name: str, schema: Mapping[str, JsonValue] | None) -> ChatRequest:
        """Return the request in the form that the endpoint reads; no schema = free text is wanted."""
        form: dict[str, JsonValue] | None = None
        if schema is not None and self.mode == "json_schema":
            form = {
                "type": "json_schema",
                "json_schema": {"name": name, "strict": True, "schema": dict(schema)},
            }
        elif schema is not None and self.mode == "json_object":
            form = {"type": "json_object"}
        return request.model_copy(update={"response_format": form, "omit": self.omit})

    def plainer(self, status: int, message: str, *, formed: bool) -> Ability | None:
        """Return what to try after the endpoint has refused; None where its form was not the reason.

        `formed`: whether the request had asked for a form of the answer.
        """
        if is_too_long(status, message):
            return None
        for name in _OMITTABLE:
            if (
                status in _REJECTED
                and name in message
                and name not in self.omit
                and _NOT_TAKEN.search(message)
            ):
                return replace(self, omit=self.omit | {name})
        # some report a form that they cannot read as an error of their own
        about_form = status in _REJECTED or (status >= 500 and any(w in message for w in _ABOUT_FORM))
        if not formed or not about_form or self.mode == MODES[-1]:
            return None
        return replace(self, mode=MODES[MODES.index(self.mode) + 1])


def is_too_long(status: int, message: str) -> bool:
    """Return whether an endpoint has refused a question because it does not fit into what the model reads."""
    return status == 413 or ((status in _REJECTED or status >= 500) and bool(_TOO_LONG.search(message)))


class Abilities:
    """The abilities of an endpoint, by model: for this process, and with a folder for later ones."""

    def __init__(self, folder: Path | None = None, endpoint: str = "") -> None:
        self._endpoint = endpoint
        self._file = folder / "abilities.json" if folder else None
        self._known: dict[str, Ability] | None = None

    def of(self, model: str) -> Ability:
        """Return what is known of a model; the best where nothing is."""
        return self._all().get(self._key(model), Ability())

    def learned(self, model: str, ability: Ability) -> None:
        """Remember what the endpoint has taken."""
        if self.of(model) != ability:
            self._all()[self._key(model)] = ability
            self._write()

    def _key(self, model: str) -> str:
        """Return a digest: an address may contain a password."""
        return content_id([self._endpoint, model])

    def _all(self) -> dict[str, Ability]:
        if self._known is None:
            self._known = _read(self._file) if self._file else {}
        return self._known

    def _write(self) -> None:
        if self._file is None:
            return
        known = {key: {"mode": a.mode, "omit": sorted(a.omit)} for key, a in self._all().items()}
        with suppress(OSError):  # a disk that is full or read-only: it is found out again
            self._file.parent.mkdir(parents=True, exist_ok=True)
            put(self._file, json.dumps(known))


def _read(file: Path) -> dict[str, Ability]:
    """Return what the file says; nothing where it is old, damaged or not there."""
    try:
        if time.time() - file.stat().st_mtime > REMEMBERED:
            return {}
        data = json.loads(file.read_text("utf-8"))
        return {
            str(key): Ability(_mode(a["mode"]), frozenset(map(str, a["omit"]))) for key, a in data.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _mode(value: object) -> Mode:
    return next(mode for mode in MODES if mode == value) if value in MODES else MODES[0]
