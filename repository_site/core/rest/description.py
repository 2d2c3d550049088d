"""What the OpenAPI document says about the API as a whole, and about each group of its operations."""

from __future__ import annotations

API_DESCRIPTION = """\
Typed elements in facets and views, in storages that know nothing of each other, with versions and a release lifecycle.

- Addresses begin with the storage: `/{collectionId}/{storageId}/_api/`. A trailing slash makes no difference and
  never redirects. `{collectionId}/_admin` and `_sysadmin/_admin` are the administrative contexts of a collection and
  of the site.
- Reads answer GET, HEAD, and POST with an empty body.
- `api-version`, as a header or a query parameter, chooses how an answer looks; each operation lists what it knows.
  Absent means the default that it names.
- Failures have one body: `message`, `output`, `type` and `data`, which has one item for each problem.
- Attributes are values by name and culture id (LCID); 127 stands for every culture.
- Date-times are local to the storage's time zone and carry no offset.
- `schema/types` has a JSON Schema for each configured type: what an element of it may hold.
"""
API_TAGS = {
    "storage": "What a storage is: ids, addresses, cultures, region and time zone.",
    "facets": "How content is arranged: facets, their views, and the configuration of the types that a view shows.",
    "elements": "Elements and their parts: read, write, draw and delete them.",
    "diagrams": "Diagrams as pictures.",
    "reporting": "Elements with children, content and versions written out, for evaluations.",
    "release": "The life of a version: transitions, new versions, and the log of all steps.",
    "tasks": "Consent that a transition waits for.",
    "administration": "The storages of a collection, or the collections of the site, for administrators.",
    "document": "This document, and JSON Schemas of the configured types.",
}
