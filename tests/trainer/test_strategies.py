from __future__ import annotations

from dataclasses import replace

import pytest

from trainer.context import PipelineContext
from trainer.offline.editor import OfflineEditor
from trainer.offline.extractor import OfflineExtractor
from trainer.offline.merger import StatementMerger
from trainer.strategies import ModelChoice, Strategies
from xpstore.config import StoreConfig
from xpstore.errors import UsageError
from xpstore.settings import LlmSettings

CONFIG = StoreConfig(format=1, id="s", llm=LlmSettings(model="small", parallel=3))


def test_the_model_of_the_command_line_wins():
    assert ModelChoice().settings(CONFIG) == CONFIG.llm
    assert ModelChoice("large").settings(CONFIG) == replace(CONFIG.llm, model="large")


def test_without_any_model_it_says_where_to_name_one():
    with pytest.raises(UsageError) as caught:
        ModelChoice().settings(StoreConfig(format=1, id="s"))
    assert "--model" in caught.value.hint


def test_a_learner_may_bear_more_at_once_than_agents_do():
    offline = Strategies(OfflineExtractor(), OfflineEditor(), StatementMerger())
    context = PipelineContext(parallel=2)
    assert offline.tuned(context) == context
    tuned = replace(offline, parallel=16).tuned(context)
    assert (tuned.parallel, tuned.analysis_context.parallel, tuned.gradient_context.parallel) == (2, 16, 16)
