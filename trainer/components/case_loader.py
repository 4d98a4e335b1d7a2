"""ListCaseLoader: cases that are in memory already (RFC §6.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from trainer.context import PipelineContext
    from trainer.domain import Case


class ListCaseLoader:
    """Yields the cases in their order, at most `batch_size` at once; None = all in one batch."""

    def __init__(self, cases: Sequence[Case], batch_size: int | None = None) -> None:
        if batch_size is not None and batch_size < 1:
            raise ValueError(f"a batch has at least one case, not {batch_size}")
        self._cases = tuple(cases)
        self._size = batch_size

    async def batches(self, context: PipelineContext) -> AsyncIterator[list[Case]]:
        """Yield non-empty batches, within the limit of `case_load_context`; every call starts anew."""
        cases = self._cases[: context.case_load_context.limit]
        size = self._size or len(cases)
        for start in range(0, len(cases), max(1, size)):
            yield list(cases[start : start + size])
