"""Keys: `sk-<public id>-<secret>`. The id finds the key, the secret proves it.

Only the SHA-256 of a key is stored. A fast hash is enough here: it protects the key against whoever
reads the database, and 256 random bits cannot be guessed however fast one hashes. (Slow hashes
are for passwords that people choose.)
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping

_KEY = re.compile(r"sk-([0-9a-f]{16})-[0-9a-f]{64}", re.ASCII)
_LONGEST_HEADER = 256
_NO_HASH = "0" * 64


def new_key() -> tuple[str, str]:
    """Returns a new public id and its key."""
    key_id = secrets.token_hex(8)
    return key_id, f"sk-{key_id}-{secrets.token_hex(32)}"


def hashed(key: str) -> str:
    """Returns what is stored of a key: SHA-256, hex."""
    return hashlib.sha256(key.encode()).hexdigest()


def id_of(key: str) -> str | None:
    """Returns a key's public id; None where the text is no key of this form."""
    match = _KEY.fullmatch(key)
    return match[1] if match else None


def proves(key: str, secret_hash: str | None) -> bool:
    """Tells whether a key is the one that was stored, in a time that tells nothing about it.

    Without a stored key it takes as long and says no.
    """
    return hmac.compare_digest(hashed(key), secret_hash or _NO_HASH)


def presented(headers: Mapping[bytes, bytes]) -> str | None:
    """Returns the key that a request carries, as OpenAI's clients or as Anthropic's send it."""
    scheme, _, credentials = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() != b"bearer":
        credentials = headers.get(b"x-api-key", b"")
    credentials = credentials[:_LONGEST_HEADER].strip()
    return credentials.decode("latin-1") or None
