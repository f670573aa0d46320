"""The usage record of an exchange that has ended. Pure, but for its id."""

import random
import time

from turnout.gateway.accounting import Account, cost_usd
from turnout.gateway.exchange import Exchange
from turnout.usage.record import UsageRecord


def record_of(exchange: Exchange, account: Account) -> UsageRecord:
    """Returns the record of an exchange that has ended."""
    meter, usage = account.meter, account.meter.usage
    first, last, started = meter.first_ns, meter.last_ns, exchange.started_ns
    gaps = usage.completion_tokens - 1
    return UsageRecord(
        id=_id(exchange),
        at_s=meter.arrived_at_s,
        team=account.caller.team,
        key_id=account.caller.key_id,
        endpoint=exchange.dialect.name,
        model=exchange.model,
        market=meter.market,
        status=exchange.status,
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=usage.cached_tokens,
        completion_tokens=usage.completion_tokens,
        queue_s=((meter.sent_ns or started) - started) / 1e9,
        ttft_s=(first - started) / 1e9 if first else None,
        itl_s=(last - first) / 1e9 / gaps if first and last and gaps > 0 else None,
        e2e_s=exchange.elapsed_s(),
        list_cost_usd=cost_usd(usage, account.price),
        attempts=meter.attempts,
    )


def _id(exchange: Exchange) -> str:
    """Returns a new id; an answer that the caller named has that one, however often it is given.

    New ones rise with time, as UUID 7 does: the database appends them to its index.
    """
    if exchange.usage_id is not None and exchange.status == 200:
        return exchange.usage_id
    return f"{time.time_ns() // 1_000_000:012x}{random.getrandbits(80):020x}"
