"""Rows of the search index for the documents of an import (D620).

The trigger of documents would have to take each text apart in the database; Python needs a tenth of the time for that.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from elements.filters.search_documents import posted_words
from elements.models import SearchDocument, SearchPosting
from repository_site.core.database.statements import engine, id_array, set_for_transaction
from storage.tenancy.bulk import ascending_ids, copy_row, copy_rows, copy_text

DOCUMENT_COLUMNS = ("id", "names", "texts", "drawn")
POSTING_COLUMNS = ("id", "word", "in_name", "size", "versions")
# The trigger of documents reads it (`elements_post_words`).
POSTED_PARAMETER = "repository.posted"


@dataclass(slots=True)
class WordRows:
    """Documents of a batch, and the versions in which each word occurs."""

    documents: list[str] = field(default_factory=list)
    versions: dict[tuple[str, bool], list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, version: str, names: str, texts: str) -> None:
        self.documents.append(copy_row(version, copy_text(names), copy_text(texts), ""))
        for posted in posted_words(names, texts):
            self.versions[posted].append(version)

    def write(self) -> None:
        if not self.documents:
            return
        ids = ascending_ids()
        rows = [
            f"{next(ids)}\t{word}\t{'t' if in_name else 'f'}\t{len(found)}\t{id_array(found)}\n"
            for (word, in_name), found in self.versions.items()
        ]
        copy_rows(SearchPosting, POSTING_COLUMNS, rows)
        # Only for these documents: the trigger posts those that the database makes itself.
        set_for_transaction(POSTED_PARAMETER, engine().tenant)
        copy_rows(SearchDocument, DOCUMENT_COLUMNS, self.documents)
        set_for_transaction(POSTED_PARAMETER, "")
