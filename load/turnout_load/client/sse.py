"""Server-sent events out of a byte stream cut anywhere (WHATWG HTML, section 9.2)."""

from __future__ import annotations


class EventStream:
    """Gathers lines into the data of events; comments, ids and event names are left out."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._data_bytes = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """Returns the data of every event that this piece completes."""
        buffer = self._rest + piece if self._rest else piece
        if b"\r" in buffer:
            # a CR at the very end may be the first half of a CRLF
            buffer, held = (buffer[:-1], b"\r") if buffer.endswith(b"\r") else (buffer, b"")
            buffer = buffer.replace(b"\r\n", b"\n").replace(b"\r", b"\n") + held
        *lines, self._rest = buffer.split(b"\n")
        events = []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b"data: ") else line[5:])
                self._data_bytes += len(line)
            elif not line and self._data:
                events.append(b"\n".join(self._data))
                self._data, self._data_bytes = [], 0
        return events

    @property
    def held_bytes(self) -> int:
        """How much of an event that is not whole yet is kept."""
        return len(self._rest) + self._data_bytes

    @property
    def has_rest(self) -> bool:
        """Says whether the stream broke off within an event."""
        return bool(self._rest or self._data)
