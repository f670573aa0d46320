"""A server that passes bytes both ways, each of the answers' a little later."""

from __future__ import annotations

import asyncio
import sys

DELAY_S = 0.03


async def copied(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay_s: float
) -> None:
    while data := await reader.read(65536):
        await asyncio.sleep(delay_s)
        writer.write(data)
    writer.close()


async def main(port: int, upstream: int) -> None:
    async def passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        theirs = await asyncio.open_connection("127.0.0.1", upstream)
        await asyncio.gather(copied(reader, theirs[1], 0.0), copied(theirs[0], writer, DELAY_S))

    async with await asyncio.start_server(passed, "127.0.0.1", port) as server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
