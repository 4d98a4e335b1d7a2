"""Redaction of a recording: done once, before it is given an id, shown to a model or written anywhere."""

from __future__ import annotations

from trainer.domain import Rollout
from xpstore.redact import Redactor


def redact_rollout(rollout: Rollout) -> Rollout:
    """Return the rollout with secrets and personal data masked; the same rollout where there are none.

    Within the rollout the same value has the same mask. The case is masked first, by itself: all trials of a
    case must still have one case afterwards.
    """
    data = rollout.model_dump(mode="json")
    redactor = Redactor()
    redactor.redact_json(data["case"])
    return Rollout.model_validate(redactor.redact_json(data))
