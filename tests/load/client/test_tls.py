"""HTTPS on a real socket: whom the tool trusts, and what becomes of a server that it does not."""

import asyncio
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from turnout_load.record import Record
from turnout_load.run.processes import run_processes
from turnout_load.spec import Spec, Target

BODY = b'{"choices": [{"message": {"content": "x"}}]}'
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
SIGNS_CERTIFICATES = 5
"""The place of `keyCertSign` among the nine uses of a key (RFC 5280, 4.2.1.3)."""
NOW = datetime.datetime.now(datetime.UTC)


def name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


class Authority:
    """Who signs certificates, and where its own is."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        own = self._signed(
            self._key.public_key(),
            x509.BasicConstraints(ca=True, path_length=None),
            x509.KeyUsage(*(use == SIGNS_CERTIFICATES for use in range(9))),
            x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()),
        )
        self.file = folder / "authority.pem"
        self.file.write_bytes(own.public_bytes(Encoding.PEM))

    def server(self, of: x509.GeneralName) -> ssl.SSLContext:
        """Returns what a server of this name shows."""
        key = ec.generate_private_key(ec.SECP256R1())
        signed = self._signed(
            key.public_key(),
            x509.BasicConstraints(ca=False, path_length=None),
            x509.SubjectAlternativeName([of]),
        )
        path = self._folder / "server.pem"
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        path.write_bytes(secret + signed.public_bytes(Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    def _signed(
        self, key: ec.EllipticCurvePublicKey, *extensions: x509.ExtensionType
    ) -> x509.Certificate:
        builder = x509.CertificateBuilder(
            issuer_name=name("a test's authority"),
            subject_name=name("a test's authority" if key == self._key.public_key() else "server"),
            public_key=key,
            serial_number=x509.random_serial_number(),
            not_valid_before=NOW - datetime.timedelta(days=1),
            not_valid_after=NOW + datetime.timedelta(days=1),
        )
        signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        for each in (*extensions, signer):
            critical = isinstance(each, x509.BasicConstraints | x509.KeyUsage)
            builder = builder.add_extension(each, critical=critical)
        return builder.sign(self._key, hashes.SHA256())


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


HERE = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))


@asynccontextmanager
async def server(context: ssl.SSLContext) -> AsyncIterator[str]:
    """A server that gives every request the same answer."""
    served: set[asyncio.Task[None] | None] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.add(asyncio.current_task())
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.partition(b"content-length: ")[2]))
        writer.write(ANSWER % (len(BODY), BODY))
        await writer.drain()
        await reader.read()  # until the client leaves
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    async with listening:
        yield f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
        await asyncio.gather(*filter(None, served))


async def asked(context: ssl.SSLContext, ca_file: Path | None = None) -> Record:
    """Sends one request to a server with this certificate, from a process as a run has it."""
    async with server(context) as url:
        target = Target(url=url, model="m", stream=False, ca_file=str(ca_file) if ca_file else None)
        spec = Spec(target=target, requests=1)
        [outcome], _ = await asyncio.to_thread(run_processes, spec, lambda _: None)
    [record] = outcome.records
    return record


async def test_a_server_that_the_given_authority_signed_is_asked(authority: Authority) -> None:
    record = await asked(authority.server(HERE), authority.file)
    assert (record.error, record.status, record.chunks) == ("", 200, 1)


async def test_the_environment_names_an_authority_too(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    assert (await asked(authority.server(HERE))).error == ""


async def test_a_server_that_nobody_trusted_signed_is_a_failure_to_connect(
    authority: Authority,
) -> None:
    record = await asked(authority.server(HERE))
    assert record.error == "connect"
    assert "certificate verify failed" in record.detail
    assert record.sent_ns == -1  # it has seen no key and no prompt


async def test_a_server_with_anothers_certificate_is_a_failure_to_connect(
    authority: Authority,
) -> None:
    record = await asked(authority.server(x509.DNSName("elsewhere.test")), authority.file)
    assert record.error == "connect"
    assert "IP address mismatch" in record.detail
