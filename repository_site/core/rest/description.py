"""Descriptions of the API and of its tags, for the OpenAPI document."""

from __future__ import annotations

API_DESCRIPTION = """\
A content repository: typed elements in facets and views, with versions and a release lifecycle. Storages are isolated
from each other.

- Addresses begin with the storage: `/{collectionId}/{storageId}/_api/`. A trailing slash is optional.
  `{collectionId}/_admin` and `_sysadmin/_admin` are the administrative contexts of a collection and of the site.
- Send an API token as `Authorization: Bearer <token>`.
- Operations that read support GET, HEAD, and POST with an empty body.
- `api-version`, as a header or a query parameter, selects the format of the response. Each operation lists its versions
  and its default.
- All errors have the same body: `message`, `output`, `type` and `data`, which has one item for each problem.
- Attributes have values by culture id (LCID); 127 means all cultures.
- Date-times are local to the time zone of the storage and have no offset.
- `schema/types` has a JSON Schema for each configured type.
"""
API_TAGS = {
    "storage": "Ids, addresses, cultures, region and time zone of a storage.",
    "facets": "Facets, their views, and the configuration of the types in a view.",
    "elements": "Read, create, update, draw and delete elements and their parts.",
    "files": "Upload files for attributes, and read them.",
    "search": "Full-text search, and suggestions while a user types.",
    "diagrams": "Diagrams as SVG pictures and as BPMN 2.0 documents.",
    "reporting": "Elements with children, content and versions in full, for reports.",
    "release": "Transitions between states, new versions, and the lifecycle log.",
    "tasks": "Requests for approval: list and decide them.",
    "changes": "Events: follow what changes in a storage.",
    "bulk": "Change many elements at once, with previews and reports.",
    "permissions": "Permission sets, which limit who sees and changes elements and facets.",
    "permalinks": "Short addresses of pages, which lead to what a visitor may see today.",
    "webhooks": "Receivers to which events are sent, for administrators.",
    "compatibility": "Addresses for existing tools. Other clients use `rest`, which shows the same content.",
    "agents": "Tools for language models, by the Model Context Protocol.",
    "administration": "Storages of a collection and collections of the site, for administrators.",
    "document": "Index of the API, this document, and JSON Schemas of the configured types.",
}
