"""api-version (D5): a header or query parameter; each operation has its own default."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest

from repository_site.core.problems import Unreadable
from repository_site.core.wording import listed, printable

NAME = "api-version"
# `request.headers` would first copy all headers.
HEADER = "HTTP_API_VERSION"
ALL = ("1.0", "2.0", "3.0", "4.0")


@dataclass(frozen=True, slots=True)
class ApiVersions:
    """The versions that an operation supports, oldest first, and its default."""

    supported: tuple[str, ...]
    default: str

    @classmethod
    def up_to(cls, newest: str, default: str | None = None) -> ApiVersions:
        return cls(ALL[: ALL.index(newest) + 1], default or newest)

    def choose(self, request: HttpRequest) -> str:
        for name in request.GET:
            if name.lower() == NAME != name:
                raise Unreadable(f"{printable(name, 20)}: upper and lower case matter in names; write {NAME}.")
        asked = request.META.get(HEADER) or request.GET.get(NAME) or self.default
        if asked not in self.supported:
            raise Unreadable(
                f"{NAME}: this operation does not support {printable(asked, 20)!r}; use {listed(self.supported, 'or')}."
            )
        return asked
