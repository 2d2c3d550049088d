"""Run a command whose imports write nothing into the search index: `python -m benchmarks.unindexed import_storage ...`.

The triggers of the index must be off as well.
"""

from __future__ import annotations

from elements.filters import search_documents
from manage import main

if __name__ == "__main__":
    # Before the import loads it.
    search_documents.search_document = lambda attributes: None
    main()
