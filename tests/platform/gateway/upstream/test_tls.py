"""TLS to an upstream: its certificate is checked, against the system's authorities or a file's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trustme
from tests.platform.gateway.system import serving
from tests.platform.gateway.upstream.conftest import Beyond


@pytest.fixture
async def secure(beyond: Beyond, tmp_path: Path) -> AsyncIterator[tuple[str, Path]]:
    """The provider behind TLS, for `localhost` only, and the file of its authority."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    certificate = authority.issue_cert("localhost")
    certificate.private_key_and_cert_chain_pem.write_to_path(tmp_path / "server.pem")
    async with serving(beyond.provider, ssl_certfile=str(tmp_path / "server.pem")) as url:
        yield f"https://localhost:{url.rsplit(':', 1)[1]}/v1", tmp_path / "ca.pem"


@pytest.mark.parametrize("stream", [False, True])
async def test_a_certificate_of_the_files_authority_is_believed(
    beyond: Beyond, secure: tuple[str, Path], stream: bool
) -> None:
    url, authority = secure
    beyond.configure(base_url=url, ca_file=str(authority))
    assert (await beyond.system.chat("far", stream=stream)).status_code == 200


async def test_an_unknown_authority_gets_neither_key_nor_prompt(
    beyond: Beyond, secure: tuple[str, Path], caplog: pytest.LogCaptureFixture
) -> None:
    beyond.configure(base_url=secure[0])
    assert (await beyond.system.chat("far")).status_code == 503
    assert beyond.provider.received == []
    why = [r.__dict__["why"] for r in caplog.records if r.message == "replica_unreachable"]
    assert why == ["ClientConnectorCertificateError"]


async def test_a_certificate_for_another_host_is_not_believed(
    beyond: Beyond, secure: tuple[str, Path]
) -> None:
    url, authority = secure
    beyond.configure(base_url=url.replace("localhost", "127.0.0.1"), ca_file=str(authority))
    assert (await beyond.system.chat("far")).status_code == 503
    assert beyond.provider.received == []


async def test_a_file_that_cannot_be_read_leaves_the_model_without_a_replica(
    beyond: Beyond, secure: tuple[str, Path], caplog: pytest.LogCaptureFixture
) -> None:
    beyond.configure(base_url=secure[0], ca_file="/nowhere/ca.pem")
    assert (await beyond.system.chat("far")).status_code == 503
    assert (await beyond.system.chat("small")).status_code == 200
    assert "upstream_ca_unreadable" in {record.message for record in caplog.records}
