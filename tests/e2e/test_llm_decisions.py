"""Right and wrong decisions of the corpora, as a model's answers over HTTP: refused as without a model."""

from __future__ import annotations

import asyncio
import difflib
import sys
import threading
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.resolutions import WRONG, halves, right, wrong
from trainer.asking.open import open_asker
from trainer.llm_learner.claims import learner_name
from trainer.llm_learner.resolver import LLMResolver
from xpstore.conflict import lines_of, statements_in
from xpstore.resolution import resolve
from xpstore.resolution_check import check, errors
from xpstore.settings import LlmSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.llm_server import LlmServer
    from tests.resolutions import Decision, Page
    from trainer.asking.asker import ModelAsker
    from xpstore.resolution import Resolved

FIRST_WORDING = 100
NOWHERE = 99  # the number of no statement


def as_answer(made: Decision) -> dict[str, object]:
    """Return the answer of a model that wants this decision, whole file and all."""
    (hunk,) = made.conflict.hunks
    numbers = {s.text: s.number for s in hunk.statements}
    wordings: list[dict[str, object]] = []

    def number(text: str) -> int:
        if text not in numbers:
            numbers[text] = FIRST_WORDING + len(wordings)
            wordings.append({"number": numbers[text], "text": text})
        return numbers[text]

    texts, gone = wanted(made)
    account: list[dict[str, object]] = []
    for claim in made.account:
        into = number(claim.into) if claim.into else 0
        account.append({"number": claim.number, "fate": claim.fate, "into": into, "reason": claim.reason})
    if gone:  # text outside of the conflict has no number, so this is the nearest that can be said
        account.append({"number": NOWHERE, "fate": "dropped", "into": 0, "reason": "not needed"})
    stands = [number(text) for text in texts]
    return {"unclear": "", "hunks": [{"wordings": wordings, "stands": stands}], "account": account}


def wanted(made: Decision) -> tuple[list[str], bool]:
    """Return what a decision puts in place of the hunk, and whether it takes out text around it."""
    if not made.text:
        return list(made.texts), False
    decided = made.conflict.decided(made.text)
    if decided is not None:
        found = statements_in(decided[0])
        return ["\n".join(decided[0])] if found is None else [s.text for s in found], False
    sound = lines_of(made.conflict.assemble([made.texts]).text or "")
    changes = [line for line in difflib.ndiff(sound, lines_of(made.text)) if line[:2] in {"+ ", "- "}]
    added = [line[2:] for line in changes if line[0] == "+" and line[2:].strip()]
    return [*made.texts, *added], any(line[0] == "-" for line in changes)


class Model:
    """A model on a loop of its own that answers what it is told to."""

    def __init__(self, server: LlmServer) -> None:
        self._server = server
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        settings = LlmSettings(model="scripted", base_url=server.url)
        self._opening = open_asker(settings)
        self._asker: ModelAsker = self._run(self._opening.__aenter__())
        self._asked = 0

    def _run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def close(self) -> None:
        self._run(self._opening.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def resolve(self, made: Decision) -> Resolved:
        """Merge with a model that answers with this decision, however often it is asked."""
        self._server.on("resolve", as_answer(made))
        self._asked += 1  # other marks around the data make it another question
        resolver = LLMResolver.on_loop(self._asker, self._loop, salt=str(self._asked))
        conflict = made.conflict
        return resolve(conflict.base, conflict.ours, conflict.theirs, resolver, conflict.where)


@pytest.fixture
def model(llm_server: LlmServer) -> Iterator[Model]:
    found = Model(llm_server)
    yield found
    found.close()


def is_refused_without_a_model(made: Decision) -> bool:
    return not made.result or bool(errors(check(made.conflict, made.result, made.account)))


def rates(model: Model, pages: Iterable[Page]) -> tuple[Counter[str], Counter[str], list[bool]]:
    """Return refused and all wrong decisions by class, and whether each right one was accepted."""
    refused: Counter[str] = Counter()
    made: Counter[str] = Counter()
    accepted: list[bool] = []
    for page in pages:
        for decision in right(page):
            accepted.append(model.resolve(decision).verdict == "VERIFIED")
            assert accepted[-1] or is_refused_without_a_model(decision)
        for kind in WRONG:
            for decision in wrong(kind, page):
                before = len(model._server.of("resolve"))
                found = model.resolve(decision)
                made[kind] += 1
                if found.verdict == "VERIFIED":
                    continue
                refused[kind] += 1
                assert len(model._server.of("resolve")) - before == 2  # once more, with what was wrong
                assert (found.text, found.verdict) == (found.merged.text, found.merged.verdict)
                assert found.resolved_by != learner_name("scripted")
    return refused, made, accepted


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.stress), 40])
def test_what_is_refused_without_a_model_is_refused_from_one_and_the_rule_decides(model, capsys, every):
    """≥ 95 % of each class of wrong decisions, ≥ 98 % of all; ≥ 97 % of the right ones pass."""
    pages = [page for half in halves() for page in half[::every]]
    refused, made, accepted = rates(model, pages)
    lines = [f"{kind}: {refused[kind]}/{made[kind]}" for kind in WRONG]
    figures = f"{refused.total()}/{made.total()}; right ones accepted: {sum(accepted)}/{len(accepted)}"
    with capsys.disabled():
        sys.stdout.write(f"\nwrong answers of a model refused: {', '.join(lines)}; all: {figures}\n")
    assert all(refused[kind] >= 0.95 * made[kind] for kind in WRONG)
    assert refused.total() >= 0.98 * made.total()
    assert sum(accepted) >= 0.97 * len(accepted)
    assert all(made[kind] for kind in WRONG)
