"""Redaction of a recording: done once, before it is given an id, shown to a model or written anywhere.

Text that no file can hold is mended here too: a lone surrogate, half of a character, becomes U+FFFD.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.domain import Rollout
from xpstore.hashing import mend
from xpstore.redact import Redactor

if TYPE_CHECKING:
    from pydantic import JsonValue


def redact_rollout(rollout: Rollout) -> Rollout:
    """Return the rollout with secrets and personal data masked and text mended; the same where there is none.

    Within the rollout the same value has the same mask. The case is masked first, by itself: all trials of a
    case must still have one case afterwards.
    """
    data = rollout.model_dump(mode="json")
    redactor = Redactor()
    redactor.redact_json(data["case"])
    # mended last: an escaped surrogate in JSON text may come out of redaction as a raw one
    return Rollout.model_validate(_mended(redactor.redact_json(data)))


def _mended(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return mend(value)
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if isinstance(value, dict):
        return {mend(key): _mended(item) for key, item in value.items()}
    return value
