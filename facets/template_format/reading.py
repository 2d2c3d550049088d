"""Reads a template document into a blueprint, and reports every problem with its place at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _

from facets.blueprint import definitions as blueprint
from facets.blueprint.cycles import ReleaseCycle, ValidationRule
from facets.blueprint.data_types import DataType
from facets.blueprint.definitions import Blueprint
from facets.blueprint.derived_properties import derived_problems
from facets.blueprint.private_content import TOKENS_FACET
from facets.template_format import document_nodes as nodes
from facets.template_format.cycle_reading import check_assignees, read_cycle, read_rule
from facets.template_format.document_nodes import Node
from repository_site.core.problems import Invalid

SECTIONS = (
    "layouts", "properties", "propertySets", "viewSets", "facets", "types", "releaseCycles", "validationRules",
    "permissionSets",
)  # fmt: skip


def read_template(document: Mapping[str, Any]) -> Blueprint:
    """Return the blueprint of a template; raise Invalid with every problem and its place."""
    problems: list[str] = []
    reader = _Reader(Node(dict(document), "", problems))
    result = reader.read()
    if problems:
        raise Invalid(_("The template cannot be used."), list(dict.fromkeys(problems)))
    return result


class _Reader:
    def __init__(self, root: Node) -> None:
        self.root = root
        self.facet_names = list(dict(root.child("facets").entries()))
        self.type_names = list(dict(root.child("types").entries()))
        self.layout_names = list(dict(root.child("layouts").entries()))
        self.cycle_names = list(dict(root.child("releaseCycles").entries()))

    def read(self) -> Blueprint:
        self.shared = {key: self.property(key, node) for key, node in self.root.child("properties").entries()}
        for node in dict(self.root.child("properties").entries()).values():
            if not node.child("key").is_absent:
                node.child("key").problem(_("remove this field: the name of a shared property is its key"))
        self.sets = {key: node.names() for key, node in self.root.child("propertySets").entries()}
        for node in dict(self.root.child("propertySets").entries()).values():
            self.known(node, self.shared, nodes.UNKNOWN_PROPERTY)
        layouts = tuple(self.layout(key, node) for key, node in self.root.child("layouts").entries())
        self.types = {key: self.type(key, node) for key, node in self.root.child("types").entries()}
        for key, node in self.root.child("types").entries():
            type = self.types[key]
            self.known(node.child("parents"), self.type_names, nodes.UNKNOWN_TYPE)
            self.known(node.child("insertables"), self.type_names, nodes.UNKNOWN_TYPE)
            self.same_facet(node.child("parents"), type.facet)
            if type.insertables and not type.has_diagram:
                node.child("insertables").problem(_("only a type with a diagram (hasDiagram) can have insertables"))
        facets = tuple(self.facet(name, node) for name, node in self.root.child("facets").entries())
        self.root.child("facets").check_case(self.facet_names)
        self.root.child("types").check_case(self.type_names)
        self.root.child("releaseCycles").check_case(self.cycle_names)
        cycles = tuple(read_cycle(key, node) for key, node in self.root.child("releaseCycles").entries())
        contexts = {
            each.key for type in self.types.values() if type.is_versioned for each in type.properties if each.related
        }
        for cycle in cycles:
            check_assignees(self.root.at("releaseCycles", cycle.key), cycle, contexts)
        rules = self.rules(cycles)
        self.check_unused_sets()
        if not facets:
            self.root.child("facets").problem(_("a template needs at least one facet"))
        return Blueprint(facets, tuple(self.types.values()), layouts, cycles, rules)

    def rules(self, cycles: tuple[ReleaseCycle, ...]) -> tuple[ValidationRule, ...]:
        section = self.root.child("validationRules")
        section.check_case(dict(section.entries()))
        versioned = [each for type in self.types.values() if type.is_versioned for each in type.properties]
        by_culture = dict.fromkeys((each.key for each in versioned), False)
        by_culture |= {
            each.key: True for each in versioned if each.attribute and not each.attribute.is_invariant_culture
        }
        return tuple(read_rule(key, node, cycles, by_culture) for key, node in section.entries())

    def known(self, node: Node, known: Collection[str], unknown: str) -> None:
        """Report unknown names in a list, or unknown keys of an object, with one of the UNKNOWN messages."""
        places = dict(node.entries()) if isinstance(node.value, dict) else node.named_items()
        for name, place in places.items():
            if name not in known:
                place.unknown(unknown, name)

    def same_facet(self, node: Node, facet: str) -> None:
        for key, place in node.named_items().items():
            if key in self.type_names and facet in self.facet_names and self.facet_of(key) != facet:
                place.problem(_('the type "%(key)s" is not in the facet "%(facet)s"') % {"key": key, "facet": facet})

    def property(self, key: str, node: Node) -> blueprint.Property:
        node.fields("key", "displayNames", "descriptions", "tooltips", "editableInReleased", "attribute", "related")
        node.check(nodes.KEY, key, nodes.BAD_KEY)
        attribute, related = node.child("attribute"), node.child("related")
        if attribute.is_absent == related.is_absent:
            node.problem(_("exactly one of attribute and related is required"))
        found = blueprint.Property(
            key=key,
            display_names=node.child("displayNames").texts(required=True),
            descriptions=node.child("descriptions").texts(),
            tooltips=node.child("tooltips").texts(),
            editable_in_released=node.child("editableInReleased").flag(),
            attribute=None if attribute.is_absent else self.attribute(attribute),
            related=None if related.is_absent else self.related(related),
        )
        for path, problem in derived_problems(found):
            node.at(*path).problem(problem)
        return found

    def attribute(self, node: Node) -> blueprint.Attribute:
        node.fields("dataType", "isInvariantCulture", "selectableValues")
        data_type = self.data_type(node.child("dataType"))
        values = node.child("selectableValues")
        if data_type.has_selectable_values == values.is_absent:
            text = _("is required for %(type)s") if values.is_absent else _("is not allowed for %(type)s")
            values.problem(text % {"type": data_type})
        read = tuple(self.selectable_value(item) for item in values.items())
        keys = [value.key for value in read]
        for index, key in enumerate(keys):
            if key in keys[:index]:
                text = _("the key %(key)r occurs twice") if key else _("only one value can be without a key")
                values.items()[index].problem(text % {"key": key})
        return blueprint.Attribute(data_type, node.child("isInvariantCulture").flag(), read)

    def data_type(self, node: Node) -> DataType:
        name = node.text()
        if name and name not in {kind.value for kind in DataType}:
            words = {"name": name, "known": ", ".join(DataType)}
            node.problem(_("unknown data type %(name)r; the data types are %(known)s") % words)
            return DataType.SINGLE_LINE_TEXT
        return DataType(name) if name else DataType.SINGLE_LINE_TEXT

    def selectable_value(self, node: Node) -> blueprint.SelectableValue:
        node.fields("key", "displayNames", "descriptions", "tooltips")
        key = node.child("key")
        return blueprint.SelectableValue(
            None if key.is_absent else key.text(),
            node.child("displayNames").texts(required=True),
            node.child("descriptions").texts(),
            node.child("tooltips").texts(),
        )

    def related(self, node: Node) -> blueprint.Related:
        node.fields("facet", "relatedTypes", "canAddNew", "maxOccurrence", "readOnly")
        facet = node.child("facet")
        name = facet.text()
        if name and name not in self.facet_names:
            facet.unknown(nodes.UNKNOWN_FACET, name)
        types = node.child("relatedTypes").names()
        self.known(node.child("relatedTypes"), self.type_names, nodes.UNKNOWN_TYPE)
        self.same_facet(node.child("relatedTypes"), name)
        return blueprint.Related(
            facet=name,
            max_occurrence=node.child("maxOccurrence").number(nodes.MAX_INTEGER),
            types=types,
            can_add_new=node.child("canAddNew").flag(),
            read_only=node.child("readOnly").flag(),
        )

    def facet_of(self, type_key: str) -> Any:
        node = self.root.child("types").child(type_key)
        return node.value.get("facet") if isinstance(node.value, dict) else None

    def layout(self, key: str, node: Node) -> blueprint.LayoutDefinition:
        node.fields("displayNames")
        node.check(nodes.NAME, key, nodes.BAD_NAME)
        return blueprint.LayoutDefinition(key, node.child("displayNames").texts(required=True))

    def type(self, key: str, node: Node) -> blueprint.ElementType:
        node.fields(
            "facet", "displayNames", "descriptions", "color", "isVersioned", "isArchitectural", "hasDiagram",
            "livesInDiagrams", "elementTypeName", "entityTypeName", "staticState", "releaseCycle", "parents",
            "insertables", "properties",
        )  # fmt: skip
        node.check(nodes.NAME, key, nodes.BAD_NAME)
        facet, color = node.child("facet"), node.child("color")
        name = facet.text()
        if name and name not in self.facet_names:
            facet.unknown(nodes.UNKNOWN_FACET, name)
        color.check(nodes.COLOR, color.text(), nodes.BAD_COLOR)
        versioned, state = node.child("isVersioned").flag(), node.child("staticState")
        if versioned and not state.is_absent:
            state.problem(_("a versioned type cannot have a static state; its release cycle defines its states"))
        if versioned and node.child("livesInDiagrams").flag():
            node.child("livesInDiagrams").problem(_("a type that exists only in diagrams cannot have versions"))
        if node.child("hasDiagram").flag() and node.child("livesInDiagrams").flag():
            node.child("hasDiagram").problem(_("a type that exists only in diagrams cannot have a diagram"))
        return blueprint.ElementType(
            key=key,
            facet=name,
            display_names=node.child("displayNames").texts(required=True),
            color=color.value if isinstance(color.value, str) else "",
            element_type_name=node.child("elementTypeName").text(),
            entity_type_name=node.child("entityTypeName").text(),
            descriptions=node.child("descriptions").texts(),
            is_versioned=versioned,
            is_architectural=node.child("isArchitectural").flag(),
            has_diagram=node.child("hasDiagram").flag(),
            lives_in_diagrams=node.child("livesInDiagrams").flag(),
            static_state=state.text(""),
            release_cycle=self.release_cycle(node.child("releaseCycle"), is_versioned=versioned),
            parents=node.child("parents").names(),
            insertables=node.child("insertables").names(),
            properties=self.type_properties(node.child("properties")),
        )

    def release_cycle(self, node: Node, *, is_versioned: bool) -> str:
        """Return the cycle that a versioned type names, else the first of the template."""
        if not is_versioned:
            if not node.is_absent:
                node.problem(_("only a versioned type can have a release cycle"))
            return ""
        if not self.cycle_names:
            node.problem(_("a versioned type needs a release cycle; define one under releaseCycles"))
            return ""
        name = self.cycle_names[0] if node.is_absent else node.text()
        if name and name not in self.cycle_names:
            node.unknown(nodes.UNKNOWN_CYCLE, name)
        return name

    def type_properties(self, node: Node) -> tuple[blueprint.Property, ...]:
        """Read names of shared properties, `@set` and definitions; a definition replaces a property of a set."""
        found: dict[str, blueprint.Property] = {}
        defined: set[str] = set()
        for item in node.items():
            if isinstance(item.value, dict):
                key = item.child("key").text()
                if key in defined:
                    item.problem(_('the property "%(key)s" is defined twice') % {"key": key})
                defined.add(key)
                found[key] = self.property(key, item)
                continue
            name = item.text()
            if name.startswith("@"):
                if name[1:] not in self.sets:
                    item.unknown(nodes.UNKNOWN_PROPERTY_SET, name[1:])
                keys = self.sets.get(name[1:], ())
            else:
                keys = (name,) if name else ()
                if name and name not in self.shared:
                    item.unknown(nodes.UNKNOWN_PROPERTY, name)
            for key in keys:
                if key in found:
                    item.problem(_('the property "%(key)s" occurs twice') % {"key": key})
                elif key in self.shared:
                    found[key] = self.shared[key]
        return tuple(found.values())

    def facet(self, name: str, node: Node) -> blueprint.Facet:
        node.fields("displayNames", "typeName", "views", "forReaders")
        node.check(nodes.NAME, name, nodes.BAD_NAME)
        views = self.view_nodes(name, node.child("views"))
        own = [each for each in self.types.values() if each.facet == name]
        if not views:
            node.child("views").problem(_("a facet needs at least one view"))
        node.child("views").check_case(views)
        return blueprint.Facet(
            name,
            node.child("typeName").text(),
            node.child("displayNames").texts(required=True),
            tuple(self.view(view_name, view_node, own) for view_name, view_node in views.items()),
            node.child("forReaders").flag(default=name != TOKENS_FACET),
        )

    def view_nodes(self, facet: str, node: Node) -> dict[str, Node]:
        """Return the views of a facet, which are written out or given by the name of a view set."""
        if not isinstance(node.value, str):
            return dict(node.entries())
        chosen = self.root.child("viewSets").child(node.value)
        if chosen.is_absent:
            node.unknown(nodes.UNKNOWN_VIEW_SET, node.value)
        # A set may suit one facet and not another, so problems name the facet as well.
        return dict(Node(chosen.value, f"facets.{facet}.views -> {chosen.place}", chosen.problems).entries())

    def check_unused_sets(self) -> None:
        """Read view sets that no facet uses, to report problems before their first use."""
        used = {
            node.child("views").value
            for node in dict(self.root.child("facets").entries()).values()
            if isinstance(node.child("views").value, str)
        }
        for name, node in self.root.child("viewSets").entries():
            if name not in used:
                for view_name, view_node in node.entries():
                    self.view(view_name, view_node, [])

    def view(self, name: str, node: Node, own: list[blueprint.ElementType]) -> blueprint.View:
        node.fields(
            "displayNames", "key", "isHierarchical", "types", "rootTypes", "properties", "layouts", "typeOverrides"
        )
        node.check(nodes.NAME, name, nodes.BAD_NAME)
        types, keys = self.view_types(node, own)
        hierarchical, roots = node.child("isHierarchical").flag(), node.child("rootTypes").names()
        if bool(roots) != hierarchical:
            text = (
                _("a hierarchical view needs at least one root type")
                if hierarchical
                else _("only a hierarchical view can have root types")
            )
            node.child("rootTypes").problem(text)
        self.known(node.child("rootTypes"), keys, nodes.UNKNOWN_TYPE_OF_VIEW)
        shown = self.shown_properties(node.child("properties"), types)
        layouts = node.child("layouts").names()
        self.known(node.child("layouts"), self.layout_names, nodes.UNKNOWN_LAYOUT)
        base = [
            blueprint.ViewType(
                each.key,
                shows_all=shown is None,
                is_root=each.key in roots,
                properties=tuple(key for key in shown or () if key in {own.key for own in each.properties}),
                layouts=layouts,
            )
            for each in types
        ]
        overrides = dict(node.child("typeOverrides").entries())
        self.known(node.child("typeOverrides"), keys, nodes.UNKNOWN_TYPE_OF_VIEW)
        by_key = {each.key: each for each in types}
        return blueprint.View(
            name,
            node.child("key").text(),
            node.child("displayNames").texts(required=True),
            hierarchical,
            tuple(
                self.override(each, overrides[each.type], by_key[each.type]) if each.type in overrides else each
                for each in base
            ),
        )

    def view_types(self, node: Node, own: list[blueprint.ElementType]) -> tuple[list[blueprint.ElementType], list[str]]:
        if node.child("types").is_absent:
            return own, [each.key for each in own]
        keys = node.child("types").names()
        by_key = {each.key: each for each in own}
        self.known(node.child("types"), by_key, nodes.UNKNOWN_TYPE_OF_FACET)
        return [by_key[key] for key in keys if key in by_key], list(keys)

    def shown_properties(self, node: Node, types: list[blueprint.ElementType]) -> tuple[str, ...] | None:
        if node.value == "all":
            return None
        if not isinstance(node.value, list):
            node.problem(_('expected "all" or a list of property keys'))
            return ()
        keys = node.names()
        if types:
            self.known(node, {each.key for type in types for each in type.properties}, nodes.UNKNOWN_PROPERTY_OF_TYPES)
        return keys

    def override(self, base: blueprint.ViewType, node: Node, type: blueprint.ElementType) -> blueprint.ViewType:
        node.fields("properties", "layouts")
        changed = base
        if not node.child("properties").is_absent:
            shown = self.shown_properties(node.child("properties"), [type])
            changed = replace(changed, shows_all=shown is None, properties=shown or ())
        if not node.child("layouts").is_absent:
            layouts = node.child("layouts").names()
            self.known(node.child("layouts"), self.layout_names, nodes.UNKNOWN_LAYOUT)
            changed = replace(changed, layouts=layouts)
        return changed
