"""Serializers that describe bodies for the OpenAPI document; responses are not rendered by them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.extensions import OpenApiSerializerExtension
from rest_framework import serializers


# Base of all serializers of the API. It has no docstring, since components would inherit it as their description. The
# name of a component is the class name without `Serializer`.
class BodySerializer(serializers.Serializer[None]):
    exactly_one: ClassVar[tuple[str, str] | None] = None
    """Two optional fields of which exactly one is present."""
    most_items: ClassVar[Mapping[str, int]] = {}
    """The maximum length of list fields."""


class BodyExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]  # registers itself
    """Adds the constraints of a serializer class to its component."""

    target_class = BodySerializer
    match_subclasses = True

    def map_serializer(self, auto_schema: Any, direction: Any) -> Any:
        schema = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)
        for field, most in self.target.most_items.items():
            schema["properties"][field]["maxItems"] = most
        if self.target.exactly_one is not None:
            first, second = self.target.exactly_one
            # Generators of clients take `oneOf` for a choice of types.
            schema |= {
                "if": {"required": [first]},
                "then": {"not": {"required": [second]}},
                "else": {"required": [second]},
            }
        return schema


def envelope(name: str, item: type[BodySerializer], key: str = "values") -> type[BodySerializer]:
    """Return the serializer of a list in its envelope, with the component name `name`."""
    return type(name, (BodySerializer,), {"count": serializers.IntegerField(), key: item(many=True)})
