"""Bodies, parameters and responses of files, for decorators and the OpenAPI document."""

from __future__ import annotations

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers

from elements.api.query_parameters import query_parameter
from repository_site.core.rest.serializers import BodySerializer, envelope
from storage.files.media_types import LONGEST_NAME, UNKNOWN
from storage.files.receiving import MULTIPART

NAME = "name"
# Represents all media types: programs that generate clients do not know `*/*`.
ANY_TYPE = UNKNOWN


class StoredFileSerializer(BodySerializer):
    id = serializers.UUIDField(help_text='Put it into an attribute of type Files: `[{"id": "…"}]`.')
    name = serializers.CharField(max_length=LONGEST_NAME, help_text="Without a path.")
    size = serializers.IntegerField(help_text="Bytes.")
    mimeType = serializers.CharField(help_text=f"Type that the content confirms, or `{UNKNOWN}`.")
    sha256 = serializers.CharField(help_text="Digest of the content, in hexadecimal digits.")
    fullAddress = serializers.CharField(help_text="Address of the content.")
    uploadedOn = serializers.CharField()


StoredFilesSerializer = envelope("StoredFiles", StoredFileSerializer)


class FileFormSerializer(serializers.Serializer[object]):
    file = serializers.FileField(help_text="The file; its `filename` becomes its name.")


UPLOAD_BODY = {ANY_TYPE: OpenApiTypes.BINARY, MULTIPART: FileFormSerializer}
UPLOAD = [query_parameter(NAME, "Name of the file; required if the file is the body.")]


def _given(name: str, text: str) -> OpenApiParameter:
    return OpenApiParameter(name, str, OpenApiParameter.HEADER, description=text)


def _returned(name: str, text: str, statuses: list[int]) -> OpenApiParameter:
    return OpenApiParameter(name, str, OpenApiParameter.HEADER, description=text, response=statuses)


DOWNLOAD = [
    _given("Range", "One range of bytes, such as `bytes=0-1023`; several ranges get the whole content."),
    _given("If-Range", "Entity tag: the range counts only if the content is still the same."),
    _given("If-None-Match", "Entity tag of an earlier response; 304 if the content is the same."),
    _returned("ETag", "Entity tag of the content.", [200, 206]),
    _returned("Accept-Ranges", "`bytes`.", [200, 206]),
    _returned("Content-Disposition", "Whether a browser shows or saves the file, and its name.", [200, 206]),
    _returned("Content-Range", "The part of the content that the response has.", [206]),
]
CONTENT = {
    (200, ANY_TYPE): OpenApiResponse(OpenApiTypes.BINARY, "The content, with the media type of the file."),
    (206, ANY_TYPE): OpenApiResponse(OpenApiTypes.BINARY, "The part of the content that `Range` asks for."),
    304: OpenApiResponse(description="Not modified."),
    416: OpenApiResponse(
        {"$ref": "#/components/schemas/VolatileError"}, "The range begins after the end of the content."
    ),
}
