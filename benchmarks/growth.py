"""What is asked to see how times grow: with the elements of a storage (`sizes`), and with the storages of an
installation (`crowds`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from benchmarks.client import Reply
from benchmarks.filters import FILTERS, PAGE, WIDE_FILTERS, Filters
from benchmarks.measuring import Work, check
from benchmarks.site import StorageClient, spread

Call = Callable[[StorageClient, int], Reply]
PLAIN_PAGE, HALF_WAY = "W1 list of 100", "W4 page half-way"


def calls(names: Sequence[str]) -> dict[str, Call]:
    """The works that are asked of every storage."""

    def filtered(kind: Callable[[Filters, int], str]) -> Call:
        return lambda storage, number: storage.filtered(kind(Filters(names, storage.elements), number))

    return {
        PLAIN_PAGE: lambda storage, number: storage.page(),
        "W2 one element": lambda storage, number: storage.one(spread(number, storage.elements)),
        HALF_WAY: lambda storage, number: storage.page(half_way(storage.elements)),
        "W4 last page": lambda storage, number: storage.page(storage.elements // PAGE),
        **{f"W5 {title}": filtered(kind) for title, kind in FILTERS.items()},
    }


def wide_calls() -> dict[str, Call]:
    """What finds more where there is more."""

    def always(written: str) -> Call:
        return lambda storage, number: storage.filtered(written)

    return {f"W5 {title}, asked again": always(written) for title, written in WIDE_FILTERS.items()}


def check_filters(storage: StorageClient, names: Sequence[str]) -> None:
    """They find what they are meant to find; a filter that finds nothing is quick and says nothing."""
    filters = Filters(names, storage.elements)
    expected = {"name -eq": range(1, 2), "-in": range(3, 4), "date range": range(PAGE, PAGE + 1)}
    for title, kind in FILTERS.items():
        reply = storage.filtered(kind(filters, -1))
        check(title, reply)
        found = int(reply.header("X-Total-Count") or 0)
        if found not in expected.get(title, range(1, storage.elements)):
            raise SystemExit(f"error: {title} finds {found} elements in {storage.key}, which is not what it should")


def medians(works: Iterable[Work]) -> dict[str, dict[str, float]]:
    return {work.title: {name: work.figures(name).median for name in work.measured} for work in works}


def label(count: int) -> str:
    return f"{count:,}"


def half_way(elements: int) -> int:
    return elements // (2 * PAGE)
