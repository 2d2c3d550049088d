"""The exceptions of domain code. Only `rest/errors.py` turns them into responses (D3)."""

from __future__ import annotations

from collections.abc import Sequence


def placed(place: str, text: str) -> str:
    """Return a detail that begins with its place, which is the same in every language."""
    return f"{place}: {text}"


class Problem(Exception):
    """A request that fails. `message` is a sentence for a person, `details` has one text for each problem."""

    def __init__(self, message: str, details: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.details = tuple(details) or (message,)


class Unreadable(Problem):
    """The request is malformed: invalid JSON, an invalid parameter, an id that is not a GUID."""


class NotFound(Problem):
    """The resource does not exist, or the caller must not see it. Responses must not tell which."""


class Unauthenticated(Problem):
    """Missing or invalid credential."""


class Forbidden(Problem):
    """The caller lacks a permission; the message names it."""


class Conflict(Problem):
    """The request conflicts with the current state of the resource."""


class Gone(Problem):
    """The place in a feed from which the client wants to continue is no longer known; `next` is the oldest one."""

    def __init__(self, message: str, next: str) -> None:
        super().__init__(message)
        self.next = next


class PreconditionFailed(Problem):
    """The resource has changed since the client read it."""


class Invalid(Problem):
    """The content violates the configuration; `details` lists all problems."""


class Warned(Problem):
    """Validation rules report warnings; the caller can repeat the request and ignore them."""


class TooManyRequests(Problem):
    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Busy(Problem):
    """The request is valid, but cannot be executed now; try again."""

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TooSlow(Problem):
    """The request body arrives too slowly."""


class TooLarge(Problem):
    """The request body exceeds the limit of the installation."""
