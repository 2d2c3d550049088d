"""Uploads, attaches and reads files of acme/handbook through the API."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.core.files.uploadedfile import SimpleUploadedFile
from pytest_django import Settings

from storage.models import Storage
from tests.api_client import ApiClient
from tests.elements.handbook import ID

FILES = "/acme/handbook/_api/rest/files"
ELEMENTS = "/acme/handbook/_api/rest/facets/processes/views/detail/elements"
# The smallest picture that is one: signature, header and end.
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00" + bytes(20)
OCTETS = "application/octet-stream"


def keep_files_in(settings: Settings, folder: Path) -> Path:
    """Let the service keep contents in another folder."""
    settings.FILES_DIR = folder
    files = settings.STORAGES["files"]
    settings.STORAGES = {
        **settings.STORAGES,
        "files": {**files, "OPTIONS": {**files["OPTIONS"], "location": folder}},
    }
    return folder


def contents(folder: Path) -> list[str]:
    """Return everything below the folder of contents: also what should not be there."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@dataclass(frozen=True, slots=True)
class FileDesk:
    handbook: Storage
    api: ApiClient
    folder: Path

    def post(self, token: str | None, content: bytes, name: str = "", type: str = OCTETS, **more: Any) -> Any:
        query = f"?name={quote(name)}" if name else ""
        return self.api.post(f"{FILES}{query}", content, content_type=type, token=token, **more)

    def post_form(self, token: str, content: bytes, name: str, type: str = OCTETS, **fields: Any) -> Any:
        return self.api.post(FILES, {**fields, "file": SimpleUploadedFile(name, content, type)}, token=token)

    def upload(self, token: str, content: bytes = PNG, name: str = "plan.png", type: str = OCTETS) -> dict[str, Any]:
        response = self.post(token, content, name, type)
        assert response.status_code == 200, response.content
        found: dict[str, Any] = response.json()["values"][0]
        return found

    def get(self, token: str | None, id: str, **headers: str) -> Any:
        return self.api.get(f"{FILES}/{id}", token=token, headers=headers)

    def attach(self, token: str, *files: Any, version: str = "order-3") -> Any:
        given = {"id": ID["order"], "versionId": ID[version], "attributes": {"images": {"127": list(files)}}}
        body = json.dumps({"elements": [given]})
        return self.api.post(ELEMENTS, body, content_type="application/json", token=token)

    def images(self, token: str | None, version: str = "order-3") -> Any:
        found = self.api.get(f"{ELEMENTS}/{ID[version]}", token=token).json()["elements"][0]
        return found["attributes"].get("images", {}).get("127")
