"""Rendezvous hashing: gateways that never talk prefer the same replica for the same key.

Thaler and Ravishankar, "A Name-Based Mapping Scheme for Rendezvous" (1996): the replica with the
highest hash of key and name wins, so one that comes or goes moves only its own share of the keys.
"""

from hashlib import blake2b

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
"""2⁶⁴ over the golden ratio: Knuth's multiplicative hashing (TAOCP 6.4)."""


def key_of(text: str) -> int:
    """Returns a text's 64 bits, equal in every process and on every machine."""
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")


def score(key: int, name_key: int) -> int:
    """Returns how well a name fits a key; `name_key` is `key_of(name)`."""
    return ((key ^ name_key) * _GOLDEN) & _MASK
