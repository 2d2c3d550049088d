"""The search index (D380). Triggers maintain it in the transaction of each change; an import writes a part of
it itself (D620). Backups leave it out."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from storage.models import TenantModel


class SearchDocument(TenantModel):
    """The searched words of a version, which has the same id.

    Each text is a line of folded words in their order, with spaces around each, so that a word, the beginning of a
    word, a phrase and the beginning of a name are tested with LIKE. Postings only narrow down the candidates; this row
    decides.
    """

    names = models.TextField(help_text="Names in all cultures.")
    texts = models.TextField(help_text="All other texts in all cultures.")
    drawn = models.TextField(default="", db_default="", help_text="Texts of lanes and flows in all cultures.")

    def __str__(self) -> str:
        return str(self.id)


class SearchFile(TenantModel):
    """The searched words of the text of a file (D447), which has the same id."""

    words = models.TextField(help_text="Folded words of the text, in the same lines.")

    def __str__(self) -> str:
        return str(self.id)


class SearchPosting(TenantModel):
    """Versions in which a word occurs: those to which one statement has added it. A word that begins with @ has
    texts of files instead.

    Rows are only added, so that no transaction waits for another one. A version stays here when it loses the word.
    """

    is_index = True

    word = models.TextField(db_collation="C")
    in_name = models.BooleanField()
    size = models.IntegerField(help_text="Number of versions.")
    versions = ArrayField(models.UUIDField())

    class Meta:
        indexes = [models.Index(fields=["storage_id", "word", "in_name"], name="posting_by_word")]

    def __str__(self) -> str:
        return self.word


class SearchWord(TenantModel):
    """A word of the storage with one of its stems; one row has the word itself as its stem.

    If two transactions add the same word at the same time, both insert it; nothing depends on words being unique.
    """

    is_index = True

    word = models.TextField(db_collation="C")
    stem = models.TextField(db_collation="C")

    class Meta:
        indexes = [
            models.Index(fields=["storage_id", "word"], name="search_word_by_word"),
            models.Index(fields=["storage_id", "stem"], name="search_word_by_stem"),
        ]

    def __str__(self) -> str:
        return self.word
