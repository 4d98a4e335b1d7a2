from __future__ import annotations

import pytest

from trainer.asking.prompts import parse, prompt
from trainer.asking.question import Prompt
from trainer.errors import ComponentError

FILE = "---\nname: extract\nversion: 3\n---\nStage: extract\n\nDo it.\n"


def test_a_prompt_is_a_file():
    assert parse(FILE, "extract") == Prompt("extract", 3, "Stage: extract\n\nDo it.")
    assert prompt("judge").system.startswith("Stage: judge\n")
    assert prompt("judge") is prompt("judge")


@pytest.mark.parametrize(
    "text",
    ["", "Do it.", FILE.replace("extract", "edit", 1), FILE.replace("Stage", "Step"), FILE.replace("3", "x")],
)
def test_a_file_that_is_none_is_told(text):
    with pytest.raises(ComponentError, match="the prompt 'extract' does not begin with"):
        parse(text, "extract")


def test_a_prompt_that_is_not_there_is_told():
    with pytest.raises(ComponentError, match="there is no prompt 'none'"):
        prompt("none")
