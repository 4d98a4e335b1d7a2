"""Importers: recordings of other programs become rollouts (RFC §3.4)."""

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
