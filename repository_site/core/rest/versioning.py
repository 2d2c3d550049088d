"""api-version (D5): a header, or a query parameter of the same name; absent means the operation's own label."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest

from repository_site.core.problems import Unreadable

NAME = "api-version"
ALL = ("1.0", "2.0", "3.0", "4.0")


@dataclass(frozen=True, slots=True)
class ApiVersions:
    """Which versions an operation can render, oldest first, and which one it answers when none is asked for."""

    supported: tuple[str, ...]
    default: str

    @classmethod
    def up_to(cls, newest: str, default: str | None = None) -> ApiVersions:
        return cls(ALL[: ALL.index(newest) + 1], default or newest)

    def choose(self, request: HttpRequest) -> str:
        asked = request.headers.get(NAME) or request.GET.get(NAME) or self.default
        if asked not in self.supported:
            raise Unreadable(
                f"{NAME} {asked[:20]!r} is not supported by this operation; supported: {', '.join(self.supported)}."
            )
        return asked
