"""What tags stand for (D74, D129, D135), and the reads that answer with one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b

from django.conf import settings
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from elements.api.conditional_requests import WEAK, asks_for_any, is_known, not_modified
from elements.api.operation import ElementOperation
from elements.reading.rows import VersionRow
from elements.reading.state import content_state
from repository_site.core.environment import PROJECT_DIR

PACKAGES = ("elements", "facets", "repository_site", "storage")


@cache
def code_digest() -> str:
    """Of our modules, the files beside them and the libraries that we name: after an upgrade an answer may look
    different although nothing in the storage has changed."""
    found = sorted(
        file
        for package in PACKAGES
        for file in (PROJECT_DIR / package).rglob("*")
        if file.is_file() and file.suffix != ".pyc"
    )
    files = (*found, PROJECT_DIR / "requirements.txt")
    parts = [(str(file.relative_to(PROJECT_DIR)), blake2b(file.read_bytes()).digest()) for file in files]
    return blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def entity_tag(row: VersionRow) -> str:
    """It changes with every change of the version."""
    return f'"{row.version}.{row.revision}"'


def is_tag_of(tag: str, row: VersionRow) -> bool:
    """Whether a tag was given for the version as it is now: by whatever view, in whatever state of everything else."""
    own = entity_tag(row)
    return tag == own or tag.startswith(f"{own[:-1]}.")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A read that nothing stands in the way of any more."""

    answer: Callable[[], HttpResponseBase]
    version: VersionRow | None = None
    """Of an answer about one element."""
    is_whole: bool = False
    """A list that is not asked for in pages: it may be streamed, from a snapshot that begins after its headers."""


class ConditionalOperation(ElementOperation):
    """Its answers follow from the content, the configuration, the request and the audience alone, and so do their tags.

    For reads of what the marks of the content stand for; tasks, logs and what a caller may do have none.
    """

    is_conditional = True

    def prepare(self, request: Request, **names: str) -> Prepared:
        """Refuse what is to be refused, so that nobody is told by a tag what a plain read would not tell."""
        raise NotImplementedError

    def read(self, request: Request, **names: str) -> HttpResponseBase:
        self.content_state = content_state()
        # An attempt that failed before this one has seen an earlier snapshot.
        self.__dict__.pop("reader", None)
        prepared = self.prepare(request, **names)
        tag = self._tag(prepared)
        if is_known(request, tag):
            return not_modified(tag)
        response = prepared.answer()
        if asks_for_any(request):
            # Asked after it was made: some things are found missing only then.
            return not_modified(tag)
        response["ETag"] = tag
        return response

    def _tag(self, prepared: Prepared) -> str:
        if prepared.version is not None:
            return f'{entity_tag(prepared.version)[:-1]}.{self._state(8)}"'
        tag = f'"{self._state(16)}"'
        return WEAK + tag if prepared.is_whole else tag

    def _state(self, size: int) -> str:
        """A digest of all that decides about the answer."""
        storage, request = self.storage, self.request._request
        parts = (
            storage.id, self.content_state, self.configuration.revision, storage.time_zone, self.base,
            request.get_full_path(), self.api_version, self.reader.audience.sees_drafts, settings.MAX_PAGE_SIZE,
            code_digest(),
        )  # fmt: skip
        return blake2b(repr(parts).encode(), digest_size=size).hexdigest()
