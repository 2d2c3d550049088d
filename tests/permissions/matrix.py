"""The permission matrix: `matrix.json` has the status of every operation for every caller and element.

`python -m tests.permissions.matrix` writes it as a page, docs/reference/permissions.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from repository_site.core.environment import PROJECT_DIR

DATA = Path(__file__).with_name("matrix.json")
PAGE = PROJECT_DIR / "docs/reference/permissions.md"
CALLERS: Mapping[str, str] = {
    "anonymous": "a caller without a token; the storage does not allow anonymous access",
    "stranger": "an administrator of another storage, with a token of that storage",
    "viewer": "",
    "analyzer": "",
    "editor": "not an author of the elements",
    "author": "an editor who is the author of all elements that have an author",
    "approver": "",
    "architect": "",
    "limited": "an administrator whose token is limited to the facet of processes",
    "reading": "an administrator whose token can only read",
    "administrator": "",
}
SUBJECTS: Mapping[str, str] = {
    "inProcess": "a sub process with an author, in this state; the same for the following states",
    "inReview": "",
    "readyForQa": "",
    "readyForRelease": "",
    "released": "",
    "inEffect": "",
    "requestToExpire": "",
    "expired": "",
    "without author": "a sub process in the state inProcess that has no author",
    "architectural": "a process house, which only architects can change and which has no versions",
    "user": "a user, whose roles and sign-ins only administrators and that user see",
    "token": "the element of a token",
    "not for readers": "a published risk; the facet of risks is not for readers",
    "limited": "a draft without author whose permission set names only the author of other elements",
    "another storage's": "an element of another storage",
    "unknown": "an id that does not exist",
}
Row = list[int]
Matrix = dict[str, dict[str, Row]]
"""By operation and subject: the statuses, in the order of callers."""
HEAD = """# Permissions

Each number is the status that the caller gets. `make docs` writes this page from the results of the
tests, which send all these requests.

Callers are tokens with one role each, and no limits unless they are named:

{callers}

Elements:

{subjects}

| status | meaning |
|---|---|
| 401 | missing or invalid credential |
| 403 | the caller lacks a permission |
| 404 | the element does not exist for this caller |
| 409 | the state of the element does not allow the change |
| 422 | the change violates the type configuration |

The server checks permissions before states. Operations with two addresses or methods (GET or POST,
DELETE or POST, `release/` or `rest/release/`) are listed once. The configuration of types, views
and properties adds further rules; see [the API](api.md).
"""


def read() -> Matrix:
    found: Matrix = json.loads(DATA.read_text(encoding="utf-8"))
    return found


def add(found: Mapping[str, Mapping[str, Mapping[str, int]]], operations: Iterable[str]) -> None:
    """Write statuses into the matrix of these operations: one line for each row, for readable differences."""
    known, places = read(), {subject: place for place, subject in enumerate(SUBJECTS)}
    parts = []
    for operation in operations:
        rows = known.get(operation, {})
        for subject, row in found.get(operation, {}).items():
            before = dict(zip(CALLERS, rows.get(subject, []), strict=False))
            # A caller who has not asked yet has no status.
            rows[subject] = [row.get(caller, before.get(caller, 0)) for caller in CALLERS]
        order = sorted(rows, key=lambda subject: places.get(subject, -1))
        lines = ",\n".join(f"    {json.dumps(subject)}: {json.dumps(rows[subject])}" for subject in order)
        parts.append(f"  {json.dumps(operation)}: {{\n{lines}\n  }}")
    DATA.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def page(matrix: Matrix) -> str:
    head = HEAD.format(callers=_listed(CALLERS), subjects=_listed(SUBJECTS))
    return "\n".join([head, *(_section(operation, rows) for operation, rows in matrix.items())])


def _listed(explained: Mapping[str, str]) -> str:
    return "\n".join(f"- {name}: {text}" if text else f"- {name}" for name, text in explained.items())


def _section(operation: str, rows: Mapping[str, Row]) -> str:
    lines = [f"## {operation}", "", f"| | {' | '.join(CALLERS)} |", f"|---|{'---|' * len(CALLERS)}"]
    lines += [f"| {subjects} | {' | '.join(map(str, row))} |" for subjects, row in _merged(rows)]
    return "\n".join([*lines, ""])


def _merged(rows: Mapping[str, Row]) -> Iterator[tuple[str, Row]]:
    """Merge the rows of elements that have the same statuses."""
    by_row: dict[tuple[int, ...], list[str]] = {}
    for subject, row in rows.items():
        by_row.setdefault(tuple(row), []).append(subject)
    for found, subjects in by_row.items():
        yield ", ".join(subjects), list(found)


if __name__ == "__main__":
    PAGE.write_text(page(read()), encoding="utf-8")
