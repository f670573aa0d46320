"""Hosts that engines may fetch media from: names and public addresses, never inner ones. Pure."""

import ipaddress
import re
import socket
from typing import Annotated

from pydantic import AfterValidator

HOST = r"[a-z0-9.-]+|\[[0-9a-f:.]+\]"
_PUBLIC_IPV6 = ipaddress.ip_network("2000::/3")


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Returns the address that a URL's host spells, None of a name.

    As operating systems read it: `127.1`, `0x7f000001`, `0177.0.0.1` and `2130706433` are all
    127.0.0.1. Raises ValueError for brackets around no IPv6 address.
    """
    if host.startswith("["):
        return ipaddress.IPv6Address(host[1:-1])
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Tells whether an address lies outside: no loopback, link, private or reserved one.

    IPv6 that carries an IPv4 address inside (mapped, 6to4, Teredo, NAT64) is none.
    """
    if isinstance(address, ipaddress.IPv6Address):
        carries = address.sixtofour is not None or address.teredo is not None
        return address in _PUBLIC_IPV6 and address.is_global and not carries
    return address.is_global and not address.is_multicast


def _checked(host: str) -> str:
    if not re.fullmatch(HOST, host):
        raise ValueError(f"'{host}' is no host: write it as in a URL, lower-case, without a port")
    address = address_of(host)
    if address is not None and not is_public(address):
        raise ValueError(f"'{host}' is {address}, which is no public address")
    if address is None and (host == "localhost" or host.endswith(".localhost")):
        raise ValueError(f"'{host}' is this machine")
    return host


MediaHost = Annotated[str, AfterValidator(_checked)]
"""A host that is allowed by the operator."""
