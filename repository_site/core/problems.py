"""What domain code raises when a request cannot be done; `rest/errors.py` alone turns these into answers (D3)."""

from __future__ import annotations

from collections.abc import Sequence


def placed(place: str, text: str) -> str:
    """A detail that begins with what it is about, which is the same in every language."""
    return f"{place}: {text}"


class Problem(Exception):
    """A request that cannot be done. `message` is one sentence for a person, `details` one text a problem."""

    def __init__(self, message: str, details: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.details = tuple(details) or (message,)


class Unreadable(Problem):
    """The request cannot be understood: malformed JSON, a bad parameter, an id that is no GUID."""


class NotFound(Problem):
    """Not there, or not this caller's to see: the two must look alike."""


class Unauthenticated(Problem):
    """No credential where one is needed, or one that does not hold."""


class Forbidden(Problem):
    """A known caller lacks a permission; the message names it."""


class Conflict(Problem):
    """The request contradicts the state of what it addresses."""


class PreconditionFailed(Problem):
    """What the client says it has read is no longer so."""


class Invalid(Problem):
    """Well-formed, but against the configuration; every problem is in `details`."""


class Warned(Problem):
    """Nothing forbids it, but the caller should know something first, and may then go on regardless."""


class TooManyRequests(Problem):
    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Busy(Problem):
    """What is asked for would be done, but not now."""

    def __init__(self, message: str, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TooLarge(Problem):
    """The body is larger than the installation takes."""
