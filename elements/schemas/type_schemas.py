"""Configured types as JSON Schemas (draft 2020-12): the elements that operation 5 accepts of each type (D141).

Pure: computed from the compiled configuration alone, so that a whole response can be cached with it. Names in every
culture, and hints for forms, are in keywords that begin with `x-`, which validators ignore.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from elements import derived
from elements.related_contexts import accepts
from elements.schemas.letter_case import pattern_of
from elements.schemas.value_schemas import VALUES, Schema
from elements.writing.deciding.attributes import INVARIANT, STEREOTYPE_LENGTH
from elements.writing.inputs import FIELDS, SERVER_ATTRIBUTES, SERVER_CONTEXTS, SERVER_FIELDS
from facets.blueprint.cycles import ValidationRule
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Attribute, ElementType, Property, Related
from facets.blueprint.private_content import TOKEN_TYPE
from facets.blueprint.texts import Texts
from facets.configuration import Configuration
from facets.rendering import display_names, other_texts
from repository_site.core.problems import NotFound
from repository_site.core.rest.rendering import counted, to_json
from repository_site.core.wording import similar_hint

DIALECT = "https://json-schema.org/draft/2020-12/schema"
NULL: Schema = {"type": "null"}
SIBLING: Schema = {
    "type": "string",
    "format": "uuid",
    "pattern": r"^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![\s\S])",
}
GUID: Schema = SIBLING | {"type": ["string", "null"]}
TEXT: Schema = {"type": ["string", "null"]}
POSITION: Schema = {
    "anyOf": [
        {"type": "integer", "minimum": 0},
        *(
            {"type": "object", "required": [name], "properties": {name: SIBLING}, "additionalProperties": False}
            for name in ("before", "after")
        ),
        NULL,
    ]
}
PASSED_OVER: Schema = {"readOnly": True}
IS_NEW: Schema = {"properties": {"id": NULL, "versionId": NULL}}
# Python's isprintable, except for code points that Unicode has not assigned.
_UNPRINTABLE = r"[\u0000-\u001f\u007f-\u00a0\u00ad\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]"
STEREOTYPE: Schema = {
    "anyOf": [{"type": "string", "maxLength": STEREOTYPE_LENGTH, "not": {"pattern": _UNPRINTABLE}}, NULL]
}


def all_type_schemas(configuration: Configuration) -> bytes:
    """Return the whole response, computed once for each revision of the configuration."""
    return configuration.keep(
        "type schemas",
        lambda: to_json(
            counted("values", [_Maker(configuration, each).schema() for each in configuration.types.values()])
        ),
    )


def one_type_schema(configuration: Configuration, name: str) -> bytes:
    """Return the schema of a type, ignoring letter case (D1)."""
    type = next((each for each in configuration.types.values() if each.key.casefold() == name.casefold()), None)
    if type is None:
        raise NotFound(f"There is no type {name}{similar_hint(name, configuration.types)}.")
    return configuration.keep(("type schema", type.key), lambda: to_json(_Maker(configuration, type).schema()))


class _Maker:
    def __init__(self, configuration: Configuration, type: ElementType) -> None:
        self.configuration = configuration
        self.cultures = configuration.cultures
        self.type = type
        self.definitions: dict[str, Schema] = {}

    def schema(self) -> Schema:
        type = self.type
        found: Schema = {
            "$schema": DIALECT,
            **self.words(type.display_names, type.descriptions, type.key),
            "x-type": self.kind(),
            "x-cultures": {
                "data": list(self.cultures.data),
                "default": self.cultures.default,
                "mandatory": list(self.cultures.mandatory),
            },
            "type": "object",
            "properties": self.fields(),
            "additionalProperties": False,
        }
        if type.lives_in_diagrams or type.key == TOKEN_TYPE:
            # Created by drawing or by issuing a token; the operation only changes them.
            found["anyOf"] = list(_naming())
        else:
            found |= {"if": IS_NEW, "then": self.when_new()}
        return found | {"$defs": dict(sorted(self.definitions.items()))}

    def kind(self) -> dict[str, Any]:
        type = self.type
        return {
            "key": type.key,
            "facet": type.facet,
            "isVersioned": type.is_versioned,
            "isArchitectural": type.is_architectural,
            "hasDiagram": type.has_diagram,
            "livesInDiagrams": type.lives_in_diagrams,
            "parents": list(type.parents),
            "insertables": list(type.insertables),
            "states": self.states(),
        }

    def states(self) -> list[str]:
        return list(self.configuration.cycles[self.type.key].categories) if self.type.is_versioned else []

    def fields(self) -> dict[str, Schema]:
        contexts = {each.key: self.context(each, each.related) for each in self.type.properties if each.related}
        return {
            "id": GUID,
            "versionId": GUID,
            "type": _named([self.type.key]),
            "facetName": _named([self.type.facet]),
            "state": {"enum": [*(self.states() or [""]), None], "readOnly": True},
            "stereotype": STEREOTYPE,
            "attributes": self.attributes(self.type),
            "related": {
                "type": ["object", "null"],
                "properties": contexts,
                "patternProperties": _passed_over(SERVER_CONTEXTS - contexts.keys()),
                "additionalProperties": False,
            },
            "rootPath": {"type": ["array", "null"], "items": self.reference(), "x-parents": list(self.type.parents)},
            "position": POSITION if self.type.parents and not self.type.lives_in_diagrams else NULL,
            **dict.fromkeys(sorted(SERVER_FIELDS), PASSED_OVER),
        }

    def when_new(self) -> Schema:
        """Return the rules for a new element; an element that was read may contain more."""
        type = self.type
        first = self.configuration.cycles[type.key].first_state if type.is_versioned else ""
        parent = {"prefixItems": [{"properties": {"type": _named(type.parents)}}]}
        return {
            "required": ["type"],
            "properties": {
                "type": {"type": "string"},
                "state": {"enum": [first, None]},
                "rootPath": parent if type.parents else {"maxItems": 0},
            },
        }

    def attributes(self, type: ElementType) -> Schema:
        known = {
            each.key: self.attribute_words(each, each.attribute) | self.values(each, each.attribute)
            for each in type.properties
            if each.attribute
        }
        return self.only(known)

    def only(self, known: dict[str, Schema]) -> Schema:
        return {
            "type": ["object", "null"],
            "properties": known,
            "patternProperties": _passed_over(SERVER_ATTRIBUTES - known.keys()),
            "additionalProperties": False,
        }

    def attribute_words(self, property: Property, attribute: Attribute) -> Schema:
        return {
            **self.words(property.display_names, property.descriptions, property.key),
            "x-dataType": attribute.data_type.value,
            "x-isInvariantCulture": attribute.is_invariant_culture,
            **self.rules(property),
        }

    def values(self, property: Property, attribute: Attribute) -> Schema:
        """Return a schema of values by culture; null removes a value."""
        if property.key in SERVER_ATTRIBUTES:
            return PASSED_OVER
        value = STEREOTYPE if property.key == derived.STEREOTYPE else self.value(attribute)
        cultures = [INVARIANT] if attribute.is_invariant_culture else [str(lcid) for lcid in sorted(self.cultures.data)]
        return {"type": "object", "properties": dict.fromkeys(cultures, value), "additionalProperties": False}

    def value(self, attribute: Attribute) -> Schema:
        kind = attribute.data_type
        if not kind.has_selectable_values:
            self.definitions[kind.value] = VALUES[kind]
            return {"anyOf": [{"$ref": f"#/$defs/{kind.value}"}, NULL]}
        choices = [
            {"const": each.key, **self.words(each.display_names, each.descriptions, each.key or "")}
            for each in attribute.selectable_values
        ]
        if kind is DataType.SELECTION_VALUE:
            # The value without a key selects nothing, as null does.
            has_none = any(each["const"] is None for each in choices)
            return {"oneOf": [*choices, *([] if has_none else [{"const": None}])]}
        keyed = [each for each in choices if each["const"] is not None]
        items: Schema = {"oneOf": keyed} if keyed else {"not": {}}
        return {"anyOf": [{"type": "array", "uniqueItems": True, "items": items}, NULL]}

    def rules(self, property: Property) -> Schema:
        """Return the hints about properties that a release requires; the schema itself does not require them."""
        held = [each for each in self.configuration.blueprint.rules if each.property == property.key]
        return {"x-neededFor": list(map(_rule, held))} if held and self.type.is_versioned else {}

    def context(self, property: Property, related: Related) -> Schema:
        found: Schema = {
            **self.words(property.display_names, property.descriptions, property.key),
            "x-facet": related.facet,
            "x-relatedTypes": list(related.types),
            "x-canAddNew": related.can_add_new,
            **self.rules(property),
        }
        if property.key in SERVER_CONTEXTS:
            return found | PASSED_OVER
        if related.read_only:
            found |= PASSED_OVER
        targets = [each for each in self.configuration.types.values() if accepts(property.key, related, each)]
        makes = list(self.made(targets)) if related.can_add_new else []
        named = _named([each.key for each in targets])
        one = {**self.reference(), "properties": {"type": named}, "anyOf": [*_naming(), *makes]}
        return found | {"type": "array", "maxItems": related.max_occurrence, "items": one}

    def reference(self) -> Schema:
        fields = dict.fromkeys(sorted(FIELDS), PASSED_OVER)
        fields |= {"id": GUID, "versionId": GUID, "type": TEXT, "facetName": TEXT, "stereotype": TEXT}
        values = {"type": ["object", "null"], "patternProperties": _passed_over(SERVER_ATTRIBUTES)}
        fields["attributes"] = {**values, "additionalProperties": {"type": "object"}}
        self.definitions["reference"] = {"type": "object", "properties": fields, "additionalProperties": False}
        return {"$ref": "#/$defs/reference"}

    def made(self, targets: Iterable[ElementType]) -> Iterator[Schema]:
        """Return the schema of a reference that describes a new target."""
        numbers = {key: number for number, key in enumerate(self.configuration.types)}
        for each in targets:
            if each.lives_in_diagrams or each.key == TOKEN_TYPE:
                continue
            # By number, because names of types may contain special characters of addresses.
            name = f"new{numbers[each.key]}"
            if name not in self.definitions:
                # Without texts, which are in the schema of the type itself.
                values = {one.key: self.values(one, one.attribute) for one in each.properties if one.attribute}
                self.definitions[name] = self.only(values) | {"type": "object"}
            yield {
                "required": ["type", "attributes"],
                "properties": {
                    **IS_NEW["properties"],
                    "type": {**_named([each.key]), "type": "string"},
                    "stereotype": STEREOTYPE,
                    "attributes": {"$ref": f"#/$defs/{name}"},
                    "related": {"enum": [None, {}]},
                    "rootPath": {"enum": [None, []]},
                    "state": {"enum": [None, ""]},
                },
            }

    def words(self, names: Texts, descriptions: Texts, fallback: str) -> Schema:
        """Return titles for people: in the default culture for keywords of JSON Schema, and in every culture."""
        shown = display_names(names, self.cultures, fallback)
        said = other_texts(descriptions, self.cultures)
        found: Schema = {"title": shown[self.cultures.default]}
        if said[self.cultures.default]:
            found["description"] = said[self.cultures.default]
        found["x-displayNames"] = {str(lcid): text for lcid, text in shown.items()}
        if any(said.values()):
            found["x-descriptions"] = {str(lcid): text for lcid, text in said.items()}
        return found


def _named(names: Sequence[str]) -> Schema:
    """Return a pattern that matches one of these names in any letter case (D1), or no value."""
    return {"type": ["string", "null"], "pattern": pattern_of(names), "examples": list(names)} if names else NULL


def _naming() -> Iterator[Schema]:
    for name in ("id", "versionId"):
        yield {"required": [name], "properties": {name: {"type": "string"}}}


def _passed_over(names: Iterable[str]) -> dict[str, Schema]:
    known = "|".join(sorted(names))
    return {f"^(?:{known})(?![\\s\\S])": PASSED_OVER} if known else {}


def _rule(rule: ValidationRule) -> dict[str, Any]:
    return {
        "severity": rule.severity.value,
        "states": list(rule.states),
        "transitions": list(rule.transitions),
        "perCulture": rule.per_culture,
    }
