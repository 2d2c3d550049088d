"""Media types and names of files (D452): a type counts only if the content confirms it. Pure."""

from __future__ import annotations

import codecs

from repository_site.core.wording import clean_text

UNKNOWN = "application/octet-stream"
TEXT = "text/plain"
# Types that say nothing: browsers and curl send them for files that they do not know.
GENERIC = frozenset({"", UNKNOWN, "application/x-www-form-urlencoded", "binary/octet-stream"})
# Bytes that decide about the kind of a content.
HEAD = 1024
LONGEST_NAME = 200
_OPEN_XML = "application/vnd.openxmlformats-officedocument."
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument."
_ARCHIVES = {
    ".zip": "application/zip",
    ".docx": f"{_OPEN_XML}wordprocessingml.document",
    ".xlsx": f"{_OPEN_XML}spreadsheetml.sheet",
    ".pptx": f"{_OPEN_XML}presentationml.presentation",
    ".vsdx": "application/vnd.ms-visio.drawing",
    ".odt": f"{_OPEN_DOCUMENT}text",
    ".ods": f"{_OPEN_DOCUMENT}spreadsheet",
    ".odp": f"{_OPEN_DOCUMENT}presentation",
    ".epub": "application/epub+zip",
}
_COMPOUND = {
    ".doc": "application/msword",
    ".xls": "application/vnd.ms-excel",
    ".ppt": "application/vnd.ms-powerpoint",
    ".vsd": "application/vnd.visio",
    ".msg": "application/vnd.ms-outlook",
}
_TEXTS = {
    ".txt": TEXT,
    ".log": TEXT,
    ".csv": "text/csv",
    ".md": "text/markdown",
    ".json": "application/json",
    ".ics": "text/calendar",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}
_MARKUP = {
    ".xml": "application/xml",
    ".bpmn": "application/bpmn+xml",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "application/xhtml+xml",
    ".svg": "image/svg+xml",
}
_MPEG4 = {".mp4": "video/mp4", ".m4v": "video/mp4", ".m4a": "audio/mp4", ".mov": "video/quicktime"}
# Offset and bytes that identify a content, and its possible types by the ending of the name.
_SIGNATURES: tuple[tuple[int, bytes, dict[str, str]], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", {".png": "image/png"}),
    (0, b"\xff\xd8\xff", {".jpg": "image/jpeg", ".jpeg": "image/jpeg"}),
    (0, b"GIF87a", {".gif": "image/gif"}),
    (0, b"GIF89a", {".gif": "image/gif"}),
    (8, b"WEBP", {".webp": "image/webp"}),
    (8, b"WAVE", {".wav": "audio/wav"}),
    (0, b"II*\x00", {".tif": "image/tiff", ".tiff": "image/tiff"}),
    (0, b"MM\x00*", {".tif": "image/tiff", ".tiff": "image/tiff"}),
    (0, b"%PDF-", {".pdf": "application/pdf"}),
    (0, b"PK\x03\x04", _ARCHIVES),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", _COMPOUND),
    (0, b"\x1f\x8b", {".gz": "application/gzip"}),
    (0, b"7z\xbc\xaf\x27\x1c", {".7z": "application/x-7z-compressed"}),
    (4, b"ftyp", _MPEG4),
    (0, b"\x1aE\xdf\xa3", {".webm": "video/webm"}),
    (0, b"ID3", {".mp3": "audio/mpeg"}),
    (0, b"OggS", {".ogg": "audio/ogg", ".ogv": "video/ogg"}),
)
KNOWN = tuple(
    dict.fromkeys(type for kinds in (*(each[2] for each in _SIGNATURES), _TEXTS, _MARKUP) for type in kinds.values())
)
# Shown in the browser; everything else is downloaded. None of them can run anything, with `nosniff` and the sandbox.
SHOWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", TEXT})
# Shown by pages as pictures.
PICTURES = SHOWN - {TEXT}
_BY_ENDING = {
    ending: type for kinds in (*(each[2] for each in _SIGNATURES), _TEXTS, _MARKUP) for ending, type in kinds.items()
}
# Names that browsers of some systems send.
_OTHER_NAMES = {
    "application/x-gzip": "application/gzip",
    "application/x-yaml": "application/yaml",
    "application/x-zip-compressed": "application/zip",
    "audio/mp3": "audio/mpeg",
    "audio/x-m4a": "audio/mp4",
    "audio/x-wav": "audio/wav",
    "image/jpg": "image/jpeg",
    "text/x-markdown": "text/markdown",
    "text/xml": "application/xml",
}
_CONTROLS = frozenset(range(32)) - {*b"\t\n\r\f"}


class ContentProbe:
    """Looks at a content while it arrives: its first bytes, and whether all of it is text."""

    def __init__(self) -> None:
        self.head = b""
        self._decoder: codecs.IncrementalDecoder | None = codecs.getincrementaldecoder("utf-8")()

    def add(self, piece: bytes) -> None:
        if len(self.head) < HEAD:
            self.head += piece[: HEAD - len(self.head)]
            if _CONTROLS.intersection(self.head):
                self._decoder = None
        if self._decoder is not None:
            try:
                is_text = "\x00" not in self._decoder.decode(piece)
            except UnicodeDecodeError:
                is_text = False
            if not is_text:
                self._decoder = None

    def media_type(self, claimed: str, name: str) -> str:
        """Return the type that the client claims, by its header or by the ending of the name, if the content has it.

        Both claims must fit: a browser that saves a file goes by its name.
        """
        possible, given, ending = self._possible(), _plain(claimed), _ending(name)
        if (given, ending) == (_COMPOUND[".xls"], ".csv"):
            # Windows takes tables that are text for files of Excel.
            given = ""
        claims = {each for each in (given, _BY_ENDING.get(ending, "")) if each not in GENERIC}
        if not claims:
            return possible[0] if possible and possible[0] not in _MARKUP.values() else UNKNOWN
        if not claims <= {*possible}:
            return UNKNOWN
        return given if given in claims else claims.pop()

    def _possible(self) -> tuple[str, ...]:
        """Return the types that the content can have, the usual one first."""
        for place, signature, kinds in _SIGNATURES:
            if self.head.startswith(signature, place) and (place != 8 or self.head.startswith(b"RIFF")):
                return tuple(dict.fromkeys(kinds.values()))
        if self._decoder is None or self._is_cut_off():
            return ()
        kinds = _MARKUP if _is_markup(self.head) else _TEXTS
        return tuple(dict.fromkeys(kinds.values()))

    def _is_cut_off(self) -> bool:
        """Return whether the content ends inside of a character."""
        try:
            return bool(self._decoder and self._decoder.decode(b"", final=True))
        except UnicodeDecodeError:
            return True


def _is_markup(head: bytes) -> bool:
    """Return whether a browser could take a text for a page: its first character opens a tag."""
    return head.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"<")


def _plain(media_type: str) -> str:
    found = media_type.partition(";")[0].strip().lower()
    return _OTHER_NAMES.get(found, found)


def _ending(name: str) -> str:
    dot = name.rfind(".")
    return name[dot:].lower() if dot >= 0 else ""


def file_name(given: str) -> str:
    """Return a name without its path, on one line; empty if nothing is left of it."""
    last = given.replace("\\", "/").rpartition("/")[2]
    # Also without characters that reverse the direction of a text, which would hide the ending.
    found = clean_text(last, len(last))
    if len(found) > LONGEST_NAME:
        ending = _ending(found)[:20]
        found = found[: LONGEST_NAME - len(ending)] + ending
    return "" if found.strip(". ") == "" else found
