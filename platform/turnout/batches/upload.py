"""Takes an upload apart while it comes: fields are kept, the file goes to disk."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from turnout.batches.errors import BadUpload
from turnout.batches.file import plain_name
from turnout.gateway.errors import BodyTooLarge

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

MOST_FIELD_BYTES = 1024
MOST_PARTS = 16
FORM_BYTES = 64 * 1024
"""What a form may hold beside its file."""
WRITE_BYTES = 256 * 1024


@dataclass
class Form:
    """What an upload says."""

    fields: dict[str, str] = field(default_factory=dict)
    filename: str | None = None
    bytes: int = 0


async def receive(
    content_type: bytes, pieces: AsyncIterator[bytes], path: Path, max_bytes: int
) -> Form:
    """Writes the form's file to `path`; raises `BadUpload`, `BodyTooLarge` or OSError."""
    kind, options = parse_options_header(content_type.decode("latin-1"))
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise BadUpload("it is no form")
    parts, size = _Parts(), 0
    try:
        parser = MultipartParser(options[b"boundary"], parts.callbacks())
        file = await asyncio.to_thread(path.open, "wb")
        with file:
            async for piece in pieces:
                size += len(piece)
                parser.write(piece)
                if parts.form.bytes > max_bytes or size > max_bytes + FORM_BYTES:
                    raise BodyTooLarge(max_bytes)
                if len(parts.waiting) >= WRITE_BYTES:
                    await asyncio.to_thread(file.write, parts.taken())
            parser.finalize()
            await asyncio.to_thread(file.write, parts.taken())
    except FormParserError:
        raise BadUpload("its parts are not as they should be") from None
    if not parts.is_whole:
        raise BadUpload("it breaks off")
    if parts.form.filename is None:
        raise BadUpload("it has no file")
    return parts.form


class _Parts:
    """Follows the parser through the form."""

    def __init__(self) -> None:
        self.form = Form()
        self.waiting = bytearray()
        """Bytes of the file that are not written yet."""
        self.is_whole = False
        self._header, self._disposition, self._value = b"", b"", b""
        self._name = ""
        self._parts = 0
        self._is_file = False

    def callbacks(self) -> "MultipartCallbacks":
        """Returns what the parser calls."""
        return {
            "on_part_begin": self._begin,
            "on_header_field": self._on_header,
            "on_header_value": self._on_header_value,
            "on_header_end": self._on_header_end,
            "on_headers_finished": self._on_headers,
            "on_part_data": self._on_data,
            "on_part_end": self._end,
            "on_end": self._on_end,
        }

    def taken(self) -> bytes:
        """Returns what waits, which is then the caller's to write."""
        data = bytes(self.waiting)
        self.waiting.clear()
        return data

    def _begin(self) -> None:
        self._header = self._disposition = self._value = b""
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise BadUpload(f"it has more than {MOST_PARTS} parts")

    def _on_header(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        if self._header.lower() == b"content-disposition":
            self._disposition += data[start:end]

    def _on_header_end(self) -> None:
        self._header = b""

    def _on_headers(self) -> None:
        _, options = parse_options_header(self._disposition)
        self._name = options.get(b"name", b"").decode(errors="replace")
        self._is_file = self._name == "file"
        if self._is_file:
            if self.form.filename is not None:
                raise BadUpload("it has two files")
            sent = options.get(b"filename", b"").decode(errors="replace")
            self.form.filename = plain_name(sent)

    def _on_data(self, data: bytes, start: int, end: int) -> None:
        if self._is_file:
            self.waiting += data[start:end]
            self.form.bytes += end - start
            return
        self._value += data[start:end]
        if len(self._value) > MOST_FIELD_BYTES:
            raise BadUpload(f"a field is longer than {MOST_FIELD_BYTES} bytes")

    def _end(self) -> None:
        if not self._is_file:
            self.form.fields[self._name] = self._value.decode(errors="replace")

    def _on_end(self) -> None:
        self.is_whole = True
