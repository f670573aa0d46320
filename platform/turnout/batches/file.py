"""A file and how it is shown. Pure; times are seconds since 1970."""

from dataclasses import dataclass
from typing import Any, Literal

Purpose = Literal["batch", "batch_output"]


@dataclass(frozen=True)
class File:
    """A file as it is stored: its contents lie in the folder under its id."""

    id: str
    team: str
    key_id: str
    purpose: Purpose
    filename: str
    bytes: int
    created_at_s: float
    expires_at_s: float


def as_json(file: File) -> dict[str, Any]:
    """Returns a file in OpenAI's shape."""
    return {
        "id": file.id,
        "object": "file",
        "bytes": file.bytes,
        "created_at": int(file.created_at_s),
        "expires_at": int(file.expires_at_s),
        "filename": file.filename,
        "purpose": file.purpose,
        "status": "processed",
    }


def plain_name(sent: str) -> str:
    """Returns what a client called its file, without folders and signs that no name has."""
    name = sent.replace("\\", "/").rpartition("/")[2]
    return "".join(sign for sign in name if sign.isprintable())[:200] or "file"
