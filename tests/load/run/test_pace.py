"""Nothing is sent before its time."""

import uvloop

from turnout_load.client.connection import now_ns
from turnout_load.run import pace


def test_no_wait_ends_early() -> None:
    async def waits() -> list[int]:
        left = []
        for wanted_ns in (300_000, 900_000, 2_400_000, 7_600_000, 16_200_000) * 6:
            moment = now_ns() + wanted_ns
            await pace.until(moment)
            left.append(moment - now_ns())
        return left

    assert max(uvloop.run(waits())) <= 0
