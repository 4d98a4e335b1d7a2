"""Importers: recordings of other programs become rollouts (RFC §3.4).

files → records    source (packed, window, documents, members, jsontext, media): bounded, and streamed
record → rollout   detect asks each format whether a record is its own: a module for each, told by content;
                   form, chat, cases and scoring are what formats share
many → one         joining puts together what is one rollout in many records (claude_session,
                   openinference_trace)
and                scores adds those from beside, write is `xp import`
"""

from trainer.importers.read import (
    AS_FOUND,
    Imported,
    ImportResult,
    Reading,
    iter_rollouts,
    no_rollouts,
    read_rollouts,
)
from trainer.importers.source import Problem

__all__ = [
    "AS_FOUND",
    "ImportResult",
    "Imported",
    "Problem",
    "Reading",
    "iter_rollouts",
    "no_rollouts",
    "read_rollouts",
]
