"""Importers: recordings of other programs become rollouts (RFC §3.4)."""

from trainer.importers.read import Imported, ImportResult, iter_rollouts, no_rollouts, read_rollouts
from trainer.importers.source import Problem

__all__ = ["ImportResult", "Imported", "Problem", "iter_rollouts", "no_rollouts", "read_rollouts"]
