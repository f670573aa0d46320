"""Which hosts an operator may let engines fetch media from: public ones, however they are spelt."""

import ipaddress

import pytest
from pydantic import TypeAdapter, ValidationError

from turnout.config.media_host import MediaHost, address_of

HOST = TypeAdapter(MediaHost)


@pytest.mark.parametrize(
    "host", ["images.example.com", "example.com", "8.8.8.8", "[2606:4700::1111]", "a-b.example"]
)
def test_names_and_public_addresses_are_hosts(host: str) -> None:
    assert HOST.validate_python(host) == host


@pytest.mark.parametrize(
    ("host", "spelt"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("0", "0.0.0.0"),
        ("10.0.0.1", "10.0.0.1"),
        ("172.16.0.9", "172.16.0.9"),
        ("192.168.1.1", "192.168.1.1"),
        ("100.64.0.1", "100.64.0.1"),  # carrier-grade NAT, RFC 6598
        ("169.254.169.254", "169.254.169.254"),  # clouds' metadata
        ("2852039166", "169.254.169.254"),
        ("224.0.0.1", "224.0.0.1"),
        ("255.255.255.255", "255.255.255.255"),
        ("[::1]", "::1"),
        ("[::]", "::"),
        ("[fe80::1]", "fe80::1"),
        ("[fd00:ec2::254]", "fd00:ec2::254"),
        ("[::ffff:127.0.0.1]", "::ffff:127.0.0.1"),
        ("[::ffff:7f00:1]", "::ffff:127.0.0.1"),
        ("[::127.0.0.1]", "::7f00:1"),
        ("[64:ff9b::7f00:1]", "64:ff9b::7f00:1"),  # NAT64
        ("[2002:7f00:1::]", "2002:7f00:1::"),  # 6to4
        ("[2001:0:7f00:1::]", "2001:0:7f00:1::"),  # Teredo
    ],
)
def test_inner_addresses_are_none_in_any_spelling(host: str, spelt: str) -> None:
    assert address_of(host) == ipaddress.ip_address(spelt)
    with pytest.raises(ValidationError, match="which is no public address"):
        HOST.validate_python(host)


@pytest.mark.parametrize(
    ("host", "says"),
    [
        ("localhost", "is this machine"),
        ("a.localhost", "is this machine"),
        ("Example.com", "lower-case"),
        ("example.com:80", "without a port"),
        ("https://example.com", "is no host"),
        ("*.example.com", "is no host"),
        ("münchen.example", "is no host"),
        ("[::g]", "is no host"),
        ("[:::]", "At most one '::'"),
        ("", "is no host"),
    ],
)
def test_what_is_no_host_is_refused(host: str, says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        HOST.validate_python(host)
