"""Who may do what, as data: `matrix.json` has the status of every operation for every caller and element.

`python -m tests.permissions.matrix` writes the page of it for people, docs/reference/permissions.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from repository_site.core.environment import PROJECT_DIR

DATA = Path(__file__).with_name("matrix.json")
PAGE = PROJECT_DIR / "docs/reference/permissions.md"
CALLERS: Mapping[str, str] = {
    "nobody": "sends no token, and the storage lets nobody read without one",
    "stranger": "an administrator of another storage, with the token of that",
    "viewer": "",
    "analyzer": "",
    "editor": "who is not among the authors",
    "author": "an editor who is the author of the elements that have one",
    "approver": "",
    "architect": "",
    "administrator": "",
}
SUBJECTS: Mapping[str, str] = {
    "inProcess": "a sub process with an author, in this state; and so on",
    "inReview": "",
    "readyForQa": "",
    "readyForRelease": "",
    "released": "",
    "inEffect": "",
    "requestToExpire": "",
    "expired": "",
    "without author": "a sub process in process that has no author",
    "architectural": "a process house, which is for architects to change and has no versions",
    "another storage's": "an element that another storage has",
    "unknown": "an id that nothing has",
}
Row = list[int]
Matrix = dict[str, dict[str, Row]]
"""By operation, then by what it is about: the statuses, in the order of callers."""
HEAD = """# Who may do what

Written by `make docs` from what the tests find: each number is the status that the caller gets. A test asks for all of them with every run.

Callers are tokens with one role each:

{callers}

Elements:

{subjects}

401 means that the caller is not known here, 403 that a permission is missing, 404 that there is nothing there for this caller to know of, 409 that the state of the element stands in the way, 422 that
it is against the type configuration. A permission is looked at before the state. Operations that can be called in two ways (GET or POST, DELETE or POST, `release/` or `rest/release/`) stand here once.
Types, views and properties that a storage configures decide further: see [the API](api.md).
"""


def read() -> Matrix:
    found: Matrix = json.loads(DATA.read_text(encoding="utf-8"))
    return found


def write(matrix: Matrix) -> None:
    """A line for each row, so that a change can be read."""
    operations = []
    for operation, rows in matrix.items():
        lines = ",\n".join(f"    {json.dumps(subject)}: {json.dumps(row)}" for subject, row in rows.items())
        operations.append(f"  {json.dumps(operation)}: {{\n{lines}\n  }}")
    DATA.write_text("{\n" + ",\n".join(operations) + "\n}\n", encoding="utf-8")


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
    """What is the same for several elements is said once."""
    by_row: dict[tuple[int, ...], list[str]] = {}
    for subject, row in rows.items():
        by_row.setdefault(tuple(row), []).append(subject)
    for found, subjects in by_row.items():
        yield ", ".join(subjects), list(found)


if __name__ == "__main__":
    PAGE.write_text(page(read()), encoding="utf-8")
