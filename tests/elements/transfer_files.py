"""Lines and files for tests of the transfer, and the commands that move them."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

from django.core.management import call_command

from repository_site.core import environment

DEMO = environment.PROJECT_DIR / "elements/demo/showcase.ndjson"


def run(*words: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command(*words, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def guid(number: int) -> str:
    return f"00000000-0000-0000-0000-{number:012d}"


def line(number: int, type: str = "tag", facet: str = "tags", **changes: Any) -> dict[str, Any]:
    """Return the line of an unversioned element; None in `changes` removes a key."""
    document = {
        "facetName": facet,
        "id": guid(number),
        "creationId": guid(number),
        "type": type,
        "attributes": {"name": {"1033": f"Element {number}"}},
        **changes,
    }
    return {key: value for key, value in document.items() if value is not None}


def version(number: int, which: int, state: Any, text: str, type: str = "subProcess", **changes: Any) -> dict[str, Any]:
    return line(
        number,
        type,
        "processes",
        creationId=None,
        versionId=guid(which),
        state=state,
        attributes={"name": {"1033": f"Process {number}"}, "version": {"127": text}},
        **changes,
    )


def reference(number: int, type: str = "tag", facet: str = "tags") -> dict[str, str]:
    return {"facetName": facet, "id": guid(number), "type": type}


def drawn(shape: int, predecessors: Any) -> dict[str, Any]:
    return {"properties": {"shapeId": guid(shape), "predecessors": predecessors}, **reference(1)}


def before(shape: int) -> dict[str, Any]:
    return {"properties": {"shapeId": guid(shape)}}


def html(markup: str) -> dict[str, Any]:
    document = version(2, 3, "released", "1.0")
    text = f'<?xml version="1.0" encoding="utf-8"?>{markup}'
    return {**document, "attributes": {**document["attributes"], "description": {"1033": text}}}


def write(path: Path, *documents: Any) -> str:
    texts = [document if isinstance(document, str) else json.dumps(document) for document in documents]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return str(path)
