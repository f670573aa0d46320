"""One upstream as the gateway keeps it: where it is, its key, its rates, and the replica it is."""

import logging
import ssl
import time
from collections.abc import Sequence

from turnout.config.upstream_settings import UPSTREAM, UpstreamSettings
from turnout.gateway.api import PATHS, Endpoint
from turnout.gateway.replicas import Replica
from turnout.gateway.upstream.key import KeySource
from turnout.gateway.upstream.rates import Rates

log = logging.getLogger(__name__)
_ROOT = "/v1"


class UpstreamEndpoint:
    """What is known of one upstream; lives as long as its settings stay the same."""

    def __init__(self, model: str, settings: UpstreamSettings) -> None:
        self.model, self.settings = model, settings
        self.key = KeySource(model, settings)
        self.rates = Rates(
            settings.requests_per_minute, settings.tokens_per_minute, time.monotonic()
        )
        self.tls = self._tls()
        self._share = 0
        self._listed: tuple[Replica, ...] = ()

    def replicas(self, gateways: int) -> Sequence[Replica]:
        """Returns the one replica that the upstream looks like; none while it has no key."""
        if self.key.is_missing or self.tls is None:
            return ()
        share = -(-self.settings.max_running // gateways)
        if share != self._share:
            self._share, self._listed = share, (self._replica(share),)
        return self._listed

    def url(self, endpoint: Endpoint) -> str:
        """Returns where a kind of request goes."""
        return self.settings.base_url + PATHS[endpoint].removeprefix(_ROOT)

    def headers(self, key: str | None) -> dict[str, str]:
        """Returns a request's headers: nothing of the client's."""
        headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if key is not None:
            name = self.settings.api_key_header.lower()
            headers[name] = f"Bearer {key}" if name == "authorization" else key
        return headers

    def _replica(self, places: int) -> Replica:
        window = self.settings.context_window
        name = f"{UPSTREAM}/{self.model}"
        return Replica(name, self.model, UPSTREAM, None, window, max_running=places)

    def _tls(self) -> ssl.SSLContext | bool | None:
        """Returns what its certificate is checked with; None where that cannot be read."""
        file = self.settings.ca_file
        if file is None:
            return True
        try:
            return ssl.create_default_context(cafile=file)
        except OSError as error:  # ssl.SSLError is one
            extra = {"model": self.model, "file": file, "error": type(error).__name__}
            log.warning("upstream_ca_unreadable", extra=extra)
            return None
