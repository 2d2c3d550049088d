"""Cursors of the change feed (D327)."""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from dataclasses import dataclass
from uuid import UUID

_LAYOUT = struct.Struct(">QQ4s")
_SUM = struct.Struct(">I")
# Mark of a place before the first event.
NO_MARK = bytes(4)


@dataclass(frozen=True, slots=True)
class Cursor:
    epoch: int
    number: int
    """Number of the last event that the client has."""
    mark: bytes = NO_MARK
    """A part of the id of that event."""

    def __str__(self) -> str:
        packed = _LAYOUT.pack(self.epoch, self.number, self.mark)
        return base64.urlsafe_b64encode(packed + _SUM.pack(zlib.crc32(packed))).decode()

    @classmethod
    def read(cls, text: str) -> Cursor | None:
        """Return the cursor of a text; None if it is damaged."""
        try:
            whole = base64.b64decode(text.encode("ascii"), b"-_", validate=True)
            packed, (checksum,) = whole[: _LAYOUT.size], _SUM.unpack(whole[_LAYOUT.size :])
            if zlib.crc32(packed) != checksum:
                raise ValueError
            return cls(*_LAYOUT.unpack(packed))
        except (ValueError, binascii.Error, struct.error):
            return None


def mark_of(event: UUID | None) -> bytes:
    return event.bytes[:4] if event else NO_MARK
