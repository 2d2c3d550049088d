"""Rows of the search index for the documents of an import (D620).

The trigger of documents would have to take each text apart in the database; Python needs a tenth of the time for that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from struct import Struct
from uuid import uuid4

from elements.models import SearchDocument, SearchPosting
from repository_site.core.database.statements import engine, set_for_transaction
from storage.tenancy.bulk import copy_blocks, copy_row, copy_rows, copy_text

DOCUMENT_COLUMNS = ("id", "names", "texts", "drawn")
POSTING_COLUMNS = ("id", "word", "in_name", "size", "versions")
# The trigger of documents reads it (`elements_post_words`).
POSTED_PARAMETER = "repository.posted"
# Parts of a posting in the binary format of COPY, before the text of the word and after it. Each value has its length
# before it. PostgreSQL would need as long for the ids of versions as text as for everything else of these rows.
BEFORE_WORD, AFTER_WORD = Struct("!hi16si"), Struct("!i?iiiiiiii")
UUID_TYPE = 2950
ID_LENGTH = b"\x00\x00\x00\x10"


@dataclass(slots=True)
class WordRows:
    """Documents of a batch, and the versions in which each word occurs."""

    documents: list[str] = field(default_factory=list)
    in_names: dict[str, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    in_texts: dict[str, list[bytes]] = field(default_factory=lambda: defaultdict(list))

    def add(self, version: str, names: str, texts: str) -> None:
        self.documents.append(copy_row(version, copy_text(names), copy_text(texts), ""))
        posted = ID_LENGTH + bytes.fromhex(version.replace("-", ""))
        words = set(names.split())
        for word in words:
            self.in_names[word].append(posted)
        for word in set(texts.split()) - words:
            self.in_texts[word].append(posted)

    def write(self) -> None:
        if self.documents:
            copy_blocks(SearchPosting, POSTING_COLUMNS, [b"".join(self._postings())], is_binary=True)
            # Only for these documents: the trigger posts those that the database makes itself.
            set_for_transaction(POSTED_PARAMETER, engine().tenant)
            copy_rows(SearchDocument, DOCUMENT_COLUMNS, self.documents)
            set_for_transaction(POSTED_PARAMETER, "")

    def _postings(self) -> Iterator[bytes]:
        """Return the rows that the trigger would add, with ascending ids, which an index stores side by side."""
        beginning, number = uuid4().bytes[:10], 0
        yield b"PGCOPY\n\xff\r\n\x00" + bytes(8)
        for in_name, words in ((True, self.in_names), (False, self.in_texts)):
            for word, found in words.items():
                text, size = word.encode(), len(found)
                yield BEFORE_WORD.pack(5, 16, beginning + number.to_bytes(6, "big"), len(text))
                yield text
                array = 20 + 20 * size, 1, 0, UUID_TYPE, size, 1
                yield AFTER_WORD.pack(1, in_name, 4, size, *array)
                yield b"".join(found)
                number += 1
        yield b"\xff\xff"
