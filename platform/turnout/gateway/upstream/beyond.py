"""The models that run here and those that upstreams serve, as one table and one transport."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from turnout.config.settings import ModelSettings
from turnout.config.upstream_settings import UPSTREAM
from turnout.gateway.replicas import Replica, ReplicaTable
from turnout.gateway.transport import Answer, Transport
from turnout.gateway.upstream.transport import UpstreamTransport


class Beyond:
    """Adds upstreams to the replicas of this deployment and the way there."""

    def __init__(self, table: ReplicaTable, transport: Transport) -> None:
        self._table, self._transport = table, transport
        self._upstreams = UpstreamTransport()

    def configure(self, models: Mapping[str, ModelSettings]) -> None:
        """Takes the upstreams of the settings."""
        self._upstreams.configure(models)

    def share(self, gateways: Callable[[], int]) -> None:
        """Says how many gateways send to the same upstreams."""
        self._upstreams.gateways = gateways

    def replicas(self, model: str) -> Sequence[Replica]:
        """Returns the ready replicas of a model; an upstream with its key there is one."""
        endpoint = self._upstreams.endpoints.get(model)
        if endpoint is None:
            return self._table.replicas(model)
        return endpoint.replicas(self._upstreams.gateways())

    def send(self, replica: Replica, path: str, body: bytes) -> AbstractAsyncContextManager[Answer]:
        """Sends a request to where the replica is."""
        way = self._upstreams if replica.market == UPSTREAM else self._transport
        return way.send(replica, path, body)

    async def close(self) -> None:
        """Closes the connections to upstreams."""
        await self._upstreams.close()
