"""The trainer's errors; all of them are XpErrors, so the command line shows them the same way.

XpError
├── ComponentError        a component broke its contract, or every rollout failed (exit 1)
│   ├── CutOffError       the model went away before all was answered
│   └── NothingToNoteError  an extractor says why a rollout teaches nothing: no failure
└── UsageError
    └── RolloutError      rollouts that cannot be trained on, such as one without a case (exit 2)
"""

from __future__ import annotations

from xpstore.errors import UsageError, XpError


class ComponentError(XpError):
    """A component returned what its contract forbids."""


class CutOffError(ComponentError):
    """What the strategies ask is no longer there; what was answered is on record."""


class NothingToNoteError(ComponentError):
    """There is nothing to learn from a rollout, and its message says why: the analysis of it is done."""


class BatchError(ComponentError):
    """A batch failed for this member; `__cause__` is why, the same for all of them."""


class ClosedError(ComponentError):
    """What was submitted to is closed."""


class RolloutError(UsageError):
    """Rollouts that cannot be trained on."""


class UnscoredError(ComponentError):
    """Nobody scored a rollout, or with a score that is none."""
