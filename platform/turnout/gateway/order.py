"""One request on its way through the gateway: what every step of its delivery needs."""

from dataclasses import dataclass

from turnout.config.settings import Failover, Limits
from turnout.gateway.balance.job import Job, beginning
from turnout.gateway.catalog import Catalog
from turnout.gateway.exchange import Exchange
from turnout.gateway.meter import Meter
from turnout.gateway.request import GenerationRequest
from turnout.gateway.resume.safety import why_not


@dataclass(frozen=True)
class Order:
    """A decided request, who waits for it, and the model that is to answer."""

    exchange: Exchange
    request: GenerationRequest
    model: str
    catalog: Catalog
    meter: Meter
    job: Job

    @property
    def failover(self) -> Failover:
        """The settings of failover that hold for the model."""
        return self.catalog.failover(self.model)

    @property
    def limits(self) -> Limits:
        """The bounds on every request."""
        return self.catalog.settings.limits


def job_of(exchange: Exchange, request: GenerationRequest) -> Job:
    """Returns what of a request matters for where it runs."""
    account = exchange.account
    prompt = request.prompt_tokens_expected
    return Job(
        prompt=beginning(request.fields),
        session=exchange.headers.get(b"x-session-id", b"").decode("latin-1"),
        prompt_tokens=prompt,
        output_tokens=max(0, account.granted.claim.tokens - prompt) if account else 0,
        is_resumable=request.is_stream and why_not(request) is None,
        salt=request.fields.get("cache_salt", ""),
    )
