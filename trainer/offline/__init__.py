"""The learner without a model: what separates failures from successes, in sentences that can be checked."""

from trainer.offline.editor import OfflineEditor
from trainer.offline.extractor import OfflineExtractor

__all__ = ["OfflineEditor", "OfflineExtractor"]
