"""Embeddings that were paid for once: by model and text, in memory, on a tape, and beside the repository.

Vectors are 32-bit floats from the first: a run that finds them on record comes to the same as the one that
asked for them. Texts are not kept, only the SHA-256 of model and text.
"""

from __future__ import annotations

import asyncio
from array import array
from typing import TYPE_CHECKING

from trainer.asking.budget import tokens_of
from trainer.asking.chat import ChatError, Embedder
from trainer.asking.question import AskError, Usage
from trainer.asking.tape import text_key
from xpstore import derived

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from trainer.asking.budget import Budget
    from trainer.asking.tape import Tape
    from xpstore.git import Repo

AT_ONCE = 64
"""Texts in one request."""
MOST_BYTES = 20 << 20
"""Of the file beside the repository."""
_FILE = "vectors"
_HEAD = {"vectors": 1}
_KEY = 32
_WIDTH = 4
_NONE_THERE = frozenset({400, 404, 405, 501})
"""Statuses that say: no embeddings here, however often it is asked."""


class Vectors(Embedder):
    """An embedder that asks only for what it has not got, within the budget of the run.

    The tokens count; money does not: the prices in xp.toml are those of the model that writes.
    """

    def __init__(
        self,
        embedder: Embedder,
        budget: Budget,
        *,
        tape: Tape | None = None,
        cache: Repo | None = None,
    ) -> None:
        self._embedder = embedder
        self._budget = budget
        self._tape = tape
        self._cache = cache
        self._known: dict[bytes, array[float]] | None = None
        self._used: dict[bytes, array[float]] = {}
        self._grown = False
        self._turn = asyncio.Lock()
        self._none: AskError | None = None
        self.missed: AskError | None = None
        """The first miss of a recording that is replayed."""

    @property
    def why_not(self) -> str:
        """Why there are no embeddings; "" where there are, or nobody has asked."""
        return self._none.message if self._none else ""

    async def embed(self, texts: Sequence[str], model: str) -> list[tuple[float, ...]]:
        """Return one vector for each text, in order.

        Raises AskError; at once, where the endpoint has said that it has no embeddings.
        """
        if self._none is not None:
            raise self._none
        keys = [text_key(model, text) for text in texts]
        async with self._turn:  # the same texts are often asked for side by side
            known = self._all()
            missing = [(k, t) for k, t in dict(zip(keys, texts, strict=True)).items() if k not in known]
            try:
                for at in range(0, len(missing), AT_ONCE):
                    known.update(await self._asked(dict(missing[at : at + AT_ONCE]), model))
            except AskError as error:
                self._budget.add_fault("embed", error.fault)
                if error.fault == "replay":
                    self.missed = self.missed or error
                elif self._tape and not self._tape.replays:
                    self._tape.keep_no_vectors(error)
                if isinstance(error, ChatError) and error.status in _NONE_THERE:
                    self._none = error
                raise
        self._used.update({key: known[key] for key in keys})
        self._record(keys)
        return [tuple(known[key]) for key in keys]

    def save(self) -> None:
        """Keep what was used beside the repository, and of the rest what fits; to be called at the end."""
        if self._cache is None or not self._grown:
            return
        rows = {**self._used, **self._all()}
        derived.write(self._cache, _FILE, _HEAD, _written(rows))

    def _all(self) -> dict[bytes, array[float]]:
        if self._known is None:
            body = derived.read(self._cache, _FILE, _HEAD) if self._cache else None
            self._known = dict(_read(body)) if body is not None else {}
        return self._known

    async def _asked(self, texts: Mapping[bytes, str], model: str) -> dict[bytes, array[float]]:
        most = Usage(calls=1, prompt_tokens=sum(map(tokens_of, texts.values())))
        async with self._budget.call(most):
            vectors = await self._embedder.embed(list(texts.values()), model)
            self._budget.add("embed", most)
        self._grown = True
        return {key: array("f", vector) for key, vector in zip(texts, vectors, strict=True)}

    def _record(self, keys: Sequence[bytes]) -> None:
        if self._tape and not self._tape.replays:
            for key in dict.fromkeys(keys):
                self._tape.keep_vector(key, list(self._used[key]))


def _written(rows: Mapping[bytes, array[float]]) -> Iterator[bytes]:
    """Yield key, width and values of each row, until the file is full."""
    size = 0
    for key, vector in rows.items():
        data = vector.tobytes()
        size += _KEY + _WIDTH + len(data)
        if size > MOST_BYTES:
            return
        yield key + len(data).to_bytes(_WIDTH, "little") + data


def _read(body: memoryview) -> Iterator[tuple[bytes, array[float]]]:
    at = 0
    while at + _KEY + _WIDTH <= len(body):
        start = at + _KEY + _WIDTH
        end = start + int.from_bytes(body[at + _KEY : start], "little")
        yield bytes(body[at : at + _KEY]), array("f", bytes(body[start:end]))
        at = end
