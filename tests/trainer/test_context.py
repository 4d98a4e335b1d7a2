from __future__ import annotations

import pytest
from pydantic import ValidationError

from trainer.context import ExecutionContext, ExperienceGradientContext, PipelineContext


def test_a_pipeline_context_needs_nothing():
    context = PipelineContext()
    assert context.max_epochs == 1
    assert context.gradient_context == ExperienceGradientContext()


def test_an_execution_names_its_snapshot():
    with pytest.raises(ValidationError):
        ExecutionContext()
    assert ExecutionContext(policy_snapshot_id="abc").metadata == {}
