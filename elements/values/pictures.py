"""Kind and size of a picture file, from its content: names and media types that a browser sends prove nothing."""

from __future__ import annotations

from dataclasses import dataclass

PNG, JPEG, WEBP = "image/png", "image/jpeg", "image/webp"
# JPEG markers that begin a frame with its size; the others of this range are tables.
FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


@dataclass(frozen=True, slots=True)
class PictureFile:
    type: str
    width: int
    height: int


def read_picture_file(content: bytes) -> PictureFile | None:
    """Return None for everything that is not a PNG, JPEG or WebP file."""
    for read in (_png, _jpeg, _webp):
        if found := read(content):
            return found
    return None


def _png(content: bytes) -> PictureFile | None:
    if not content.startswith(b"\x89PNG\r\n\x1a\n") or content[12:16] != b"IHDR" or len(content) < 24:
        return None
    return PictureFile(PNG, int.from_bytes(content[16:20]), int.from_bytes(content[20:24]))


def _jpeg(content: bytes) -> PictureFile | None:
    if not content.startswith(b"\xff\xd8\xff"):
        return None
    place = 2
    while place + 9 <= len(content) and content[place] == 0xFF:
        marker, size = content[place + 1], int.from_bytes(content[place + 2 : place + 4])
        if marker in FRAMES:
            height, width = (int.from_bytes(content[place + at : place + at + 2]) for at in (5, 7))
            return PictureFile(JPEG, width, height)
        place += 2 + max(size, 2)
    return None


def _webp(content: bytes) -> PictureFile | None:
    if content[:4] != b"RIFF" or content[8:12] != b"WEBP" or len(content) < 30:
        return None
    little = int.from_bytes
    match content[12:16]:
        case b"VP8 ":
            width, height = (little(content[at : at + 2], "little") & 0x3FFF for at in (26, 28))
            return PictureFile(WEBP, width, height)
        case b"VP8L":
            bits = little(content[21:25], "little")
            return PictureFile(WEBP, (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        case b"VP8X":
            return PictureFile(WEBP, little(content[24:27], "little") + 1, little(content[27:30], "little") + 1)
    return None
