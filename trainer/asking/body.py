"""The body of an answer, unpacked as it comes and never longer than it may be."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

MOST_BYTES = 8 << 20
"""Of an answer, unpacked. 64 embeddings of 4,096 numbers are 6 MB; what a model writes, with all that it has
thought, is far below 1 MB."""
ACCEPTED = "gzip"
"""How an answer may be packed."""
_PACKED = {"gzip": True, "x-gzip": True, "deflate": True, "": False, "identity": False}
_ANY_HEAD = 47
"""Has zlib read the head of what is packed."""


class BodyError(Exception):
    """The body is not one that anybody reads; says what it is."""


async def unpacked(
    chunks: AsyncIterator[bytes], packing: str, most: int = MOST_BYTES
) -> AsyncIterator[bytes]:
    """Yield what a body says, unpacked, holding no more of it than a chunk and `most` bytes.

    `packing` is its Content-Encoding. Raises BodyError where there is more, or it cannot be unpacked.
    """
    is_packed = _PACKED.get(packing.strip().lower())
    if is_packed is None:
        raise BodyError("an answer that is packed as nobody asked for")
    inflate = zlib.decompressobj(_ANY_HEAD)
    size = 0
    async for chunk in chunks:
        try:
            data = inflate.decompress(chunk, most - size + 1) if is_packed else chunk
        except zlib.error:
            raise BodyError("an answer that cannot be unpacked") from None
        size += len(data)
        if size > most:
            raise BodyError(f"an answer of more than {most >> 20} MB")
        yield data
