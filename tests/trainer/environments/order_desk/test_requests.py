from __future__ import annotations

import random

import pytest

from trainer.environments.order_desk.catalogue import CHANGES, schemas
from trainer.environments.order_desk.habits import CLERK
from trainer.environments.order_desk.requests import PHRASINGS, write_request
from trainer.environments.scripted.habits import understand


@pytest.mark.parametrize("tool", sorted(CHANGES))
def test_every_phrasing_says_what_is_wished_for(tool: str) -> None:
    dice = random.Random(1)  # noqa: S311
    texts = set()
    for how in CHANGES[tool].options:
        for _ in range(60):
            wish = {"order_id": "O4711", "item_id": "I47111", "how": how}
            text = write_request(tool, wish, "Ada Holt", dice)
            texts.add(text)
            found = understand(text, CLERK, schemas())
            assert found is not None
            assert (found.tool, found.arguments[CHANGES[tool].argument]) == (tool, how), text
            assert found.arguments["order_id"] == "O4711"
            assert "{" not in text
    assert len(PHRASINGS[tool]) >= 4
    assert len(texts) > 30
