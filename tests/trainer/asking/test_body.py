from __future__ import annotations

import asyncio
import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.asking.body import BodyError, unpacked


def read(chunks, packing: str, most: int) -> bytes:
    async def run() -> bytes:
        async def came():
            for chunk in chunks:
                yield chunk

        return b"".join([part async for part in unpacked(came(), packing, most)])

    return asyncio.run(run())


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@given(st.binary(max_size=300), st.integers(1, 50), st.booleans())
def test_however_it_is_cut_it_is_whole(data, size, is_packed):
    sent = gzip.compress(data) if is_packed else data
    assert read(cut(sent, size), "GZIP " if is_packed else "", len(data)) == data


@given(st.binary(min_size=1, max_size=300), st.integers(1, 50), st.booleans())
def test_however_it_is_cut_it_is_never_longer_than_it_may_be(data, size, is_packed):
    sent = gzip.compress(data) if is_packed else data
    with pytest.raises(BodyError, match="more than"):
        read(cut(sent, size), "gzip" if is_packed else "", len(data) - 1)


def test_a_small_one_that_unpacks_to_a_large_one_is_not_unpacked():
    """Many megabytes in one chunk: what is held is the limit and no more."""
    bomb = gzip.compress(bytes(20 << 20), 9)
    with pytest.raises(BodyError, match="more than 1 MB"):
        read([bomb], "gzip", 1 << 20)


@pytest.mark.parametrize(
    ("data", "packing", "why"),
    [
        (b"{}", "br", "packed as nobody asked for"),
        (b"{}", "gzip, gzip", "packed as nobody asked for"),
        (b"{}", "gzip", "cannot be unpacked"),
    ],
)
def test_what_cannot_be_unpacked_is_told(data, packing, why):
    with pytest.raises(BodyError, match=why):
        read([data], packing, 10)
