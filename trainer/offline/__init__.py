"""The learner without a model: what separates rollouts that failed from those that passed, in checkable sentences."""

from trainer.offline.editor import OfflineEditor
from trainer.offline.extractor import OfflineExtractor

__all__ = ["OfflineEditor", "OfflineExtractor"]
