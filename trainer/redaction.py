"""Redaction of a recording: done once, before it is given an id, shown to a model or written anywhere.

Text that no file can hold is mended here too: a lone surrogate, half of a character, becomes U+FFFD.
"""

from __future__ import annotations

from trainer.domain import Rollout
from xpstore.hashing import mended
from xpstore.redact import Redactor


def redact_rollout(rollout: Rollout) -> Rollout:
    """Return the rollout with secrets and personal data masked and text mended; the same where there is none.

    Within the rollout the same value has the same mask. The case is masked first, by itself: all trials of a
    case must still have one case afterwards.
    """
    data = rollout.model_dump(mode="json")
    redactor = Redactor()
    redactor.redact_json(data["case"])
    # mended last: an escaped surrogate in JSON text may come out of redaction as a raw one
    return Rollout.model_validate(mended(redactor.redact_json(data)))
