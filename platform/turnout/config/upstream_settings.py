"""An OpenAI-compatible endpoint elsewhere as a model: `user_config.models.<name>.upstream`."""

import ipaddress
import re
from typing import Annotated, Self
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, Field, model_validator

from turnout.config.base import Settings

UPSTREAM = "upstream"
"""The market of what an upstream answers: in metrics, usage records and replicas."""
_NEAR_SUFFIXES = (".localhost", ".local", ".internal", ".svc", ".cluster.local")
_HEADER = r"^[A-Za-z0-9-]+$"


def _checked_url(url: str) -> str:
    """Never repeats the URL where it may hold a secret."""
    if re.search(r"[\x00-\x20\x7f\\]", url):
        raise ValueError("a URL has no spaces, backslashes or control characters")
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise ValueError("no user or password in a URL: name api_key_env or api_key_file instead")
    if parts.query or parts.fragment:
        raise ValueError("no query and no fragment: only the API's root, such as https://host/v1")
    if parts.scheme not in ("http", "https") or not parts.hostname or not _has_port(parts):
        raise ValueError("write the API's root, such as https://api.example.com/v1")
    return url.rstrip("/")


def _has_port(parts: SplitResult) -> bool:
    try:
        return parts.port != 0
    except ValueError:
        return False


ApiRoot = Annotated[str, AfterValidator(_checked_url)]


def is_near(host: str) -> bool:
    """Tells whether a host is this machine's or the cluster's by its address or name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(_NEAR_SUFFIXES)
    return address.is_loopback or address.is_private or address.is_link_local


class UpstreamSettings(Settings):
    """Where a model is served that this deployment does not run, and what may be sent there."""

    base_url: ApiRoot = Field(
        description=(
            "Root of the API as OpenAI clients take it, `/v1` included: requests go to "
            "`<base_url>/chat/completions`. Never with a key in it."
        )
    )
    model: str = Field(min_length=1, description="The model's name there.")
    context_window: int = Field(
        gt=0, strict=True, description="Most tokens of prompt and answer that it takes."
    )
    api_key_env: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="Environment variable of the gateway's process that holds the key.",
    )
    api_key_file: str | None = Field(
        default=None,
        pattern="^/",
        description=(
            "Or the file that holds it (a mounted secret), as an absolute path; a new key in it is "
            "used within a second."
        ),
    )
    api_key_header: str = Field(
        default="authorization",
        pattern=_HEADER,
        description=(
            "Header that carries the key: `authorization` as a bearer token, any other as it is "
            "(Azure's `api-key`)."
        ),
    )
    allow_http: bool = Field(
        default=False,
        strict=True,
        description=(
            "Whether plain HTTP is allowed to a host that is not this machine's or the cluster's."
        ),
    )
    ca_file: str | None = Field(
        default=None,
        pattern="^/",
        description=(
            "File of the certificate authorities that its certificate is checked against; the "
            "system's where it is left out."
        ),
    )
    max_running: int = Field(
        default=32,
        ge=1,
        strict=True,
        description="Requests that all gateways together have running there at a time.",
    )
    requests_per_minute: int | None = Field(
        default=None, ge=1, strict=True, description="Requests that may be sent there in a minute."
    )
    tokens_per_minute: int | None = Field(
        default=None,
        ge=1,
        strict=True,
        description=(
            "Tokens that may be sent and asked for in a minute: prompts by size, answers by what "
            "the request lets them be (256 where it says nothing)."
        ),
    )
    connect_timeout_s: float = Field(
        default=5.0,
        gt=0,
        allow_inf_nan=False,
        description="Seconds to wait for a connection, TLS included.",
    )
    answer_timeout_s: float = Field(
        default=300.0,
        gt=0,
        allow_inf_nan=False,
        description=(
            "Seconds until an answer must begin; one that is not streamed begins when it is whole."
        ),
    )
    fields: tuple[str, ...] = Field(
        default=(),
        description=(
            "Request fields beyond OpenAI's that it knows, of those in `engine_fields`; and those "
            "of OpenAI's that are kept from it otherwise: `user`, `metadata`, `store`, "
            "`service_tier`, `safety_identifier`, `prompt_cache_key`."
        ),
    )

    @model_validator(mode="after")
    def _key_stands_in_one_place(self) -> Self:
        if self.api_key_env is not None and self.api_key_file is not None:
            raise ValueError(
                f"api_key_env ({self.api_key_env}) and api_key_file ({self.api_key_file}): "
                "name one of them"
            )
        return self

    @model_validator(mode="after")
    def _travels_encrypted(self) -> Self:
        parts = urlsplit(self.base_url)
        host = parts.hostname or ""
        if parts.scheme == "http" and not is_near(host) and not self.allow_http:
            raise ValueError(
                f"base_url: prompts and the key would go to {host} in plain text: write https://, "
                "or allow_http: true where the network between is yours"
            )
        if parts.scheme == "http" and self.ca_file is not None:
            raise ValueError(f"ca_file ({self.ca_file}) is for https: base_url is plain http")
        return self
