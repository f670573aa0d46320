"""Reads files by lines beside other work: the disk is waited for in a thread, a block at a time."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

BLOCK = 256 * 1024


async def blocks_of(path: Path) -> AsyncIterator[bytes]:
    """Yields a file's contents; raises OSError."""
    file = await asyncio.to_thread(path.open, "rb")
    try:
        while block := await asyncio.to_thread(file.read, BLOCK):
            yield block
    finally:
        file.close()


async def lines_of(path: Path, most_bytes: int) -> AsyncIterator[tuple[int, bytes]]:
    """Yields every line that is not blank with its number, from 1 on; raises OSError.

    Of a line longer than `most_bytes` the first `most_bytes + 1` bytes are given. After every
    line the event loop has its turn.
    """
    number, rest, is_cut = 1, b"", False
    async for block in blocks_of(path):
        first, *others = block.split(b"\n")
        pieces = [rest + first, *others]
        for piece in pieces[:-1]:
            if not is_cut and piece.strip():
                yield number, piece[: most_bytes + 1]
            await asyncio.sleep(0)
            number, is_cut = number + 1, False
        rest = pieces[-1]
        if len(rest) > most_bytes:
            if not is_cut:
                yield number, rest[: most_bytes + 1]
            rest, is_cut = b"", True
    if not is_cut and rest.strip():
        yield number, rest
