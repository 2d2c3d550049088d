"""Operations 3, 4, 6 to 10, 12, 13 and 15: parse, read, render."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from elements import derived
from elements.api import schema
from elements.api.operation import ElementOperation, view_names, view_vocabulary, vocabulary_of
from elements.api.parameters import (
    EXPAND,
    FILTER,
    PAGE,
    PAGE_SELECTION_KEY,
    PAGE_SIZE,
    RESOURCES_NAME,
    SELECT,
    Query,
)
from elements.api.tags import ConditionalOperation, Prepared
from elements.api.writing import DeletingOperation, WritingOperation, refuse_many
from elements.filters.binding import Vocabulary
from elements.info import element_info
from elements.permissions import require_reporting
from elements.reading import selection as selecting
from elements.reading.assembly.addresses import REPORTING
from elements.reading.assembly.assembler import Assembler
from elements.reading.assembly.projection import (
    ATTRIBUTES,
    RELATED,
    REPORTING_ATTRIBUTES,
    REPORTING_RESOURCES,
    USUAL_RESOURCES,
    Wanted,
)
from elements.reading.content import ContentAssembler, content_wanted
from elements.reading.related import RelatedAssembler
from elements.reading.reporting import ReportAssembler
from elements.reading.rows import VersionRow
from elements.reading.selection import Selection
from elements.related_contexts import accepts
from elements.writing.drawing import ItemReader, draw
from elements.writing.findings import Findings
from elements.writing.inputs import InputReader
from elements.writing.updating import update_elements
from facets.blueprint.definitions import Attribute, ElementType, Property
from facets.configuration import CompiledView
from repository_site.core.problems import NotFound
from repository_site.core.rest.rendering import answer, counted
from repository_site.core.rest.versioning import ApiVersions
from storage.api.operation import has_no_body
from storage.localisation.cultures import preferred_culture

ELEMENT_PARAMETERS = (FILTER, RESOURCES_NAME, SELECT, EXPAND)


def list_selection(operation: ElementOperation, view: CompiledView) -> Selection:
    """What a view lists (D7): a hierarchical one its roots, a flat one every element of its types."""
    audience, ids = operation.reader.audience, operation.configuration.type_ids
    if view.view.is_hierarchical:
        return selecting.roots_of_types(audience, [str(ids[key]) for key, each in view.types.items() if each.is_root])
    return selecting.of_types(audience, [str(ids[key]) for key in view.types])


@extend_schema(tags=["elements"], summary="Elements of a view", parameters=schema.LIST, responses=schema.ELEMENT_LIST)
class ElementsView(ConditionalOperation, WritingOperation):
    """The roots of a hierarchical view, every element of a flat one; paged, or streamed as a whole."""

    operation_id = "listElements"
    writing_ids = {"POST": "updateElements"}
    writing_body = schema.Update
    reads_without_body = True
    versions = ApiVersions.up_to("4.0")
    parameters = (*ELEMENT_PARAMETERS, PAGE, PAGE_SIZE, PAGE_SELECTION_KEY)

    def prepare(self, request: Request, **names: str) -> Prepared:
        view = self.view_of(names)
        query = self.query(request)
        allowed = view_names(self.configuration, view)
        wanted = Wanted(query.resources(USUAL_RESOURCES), query.select(allowed), query.expand(allowed))
        condition = self.condition(query, view_vocabulary(self.configuration, view))
        paging = query.paging()
        query.finish()

        def list_elements() -> HttpResponseBase:
            selection = list_selection(self, view).matching(condition)
            return self.answer_list(Assembler(self.reader, view, wanted), selection, paging)

        return Prepared(list_elements, is_whole=paging is None)

    @extend_schema(summary="Update and create elements", parameters=schema.WRITTEN, responses=schema.ELEMENT_LIST)
    def post(self, request: Request, **names: str) -> HttpResponseBase:
        """With a body: update and create, operation 5. `$` parameters are for reading, which it does without a body."""
        if has_no_body(request):
            return self.read(request, **names)
        return self.once(request, lambda: self.update(request, names))

    def update(self, request: Request, names: dict[str, str]) -> HttpResponse:
        writer = self.writer(request)
        view = self.view_of(names)
        Query(request._request.GET, ()).finish()
        document = request.data
        findings = Findings()
        given = InputReader(findings).elements(document)
        refuse_many(sum(1 + each.makes for each in given), "elements")
        versions = update_elements(writer, view, given, findings, lambda rows: self.check_match(request, rows))
        return self.answer_versions(view, versions)


@extend_schema(tags=["elements"], summary="One element", parameters=schema.ONE, responses=schema.Elements)
class ElementView(ConditionalOperation, DeletingOperation):
    """One element by its id, or one of its versions by the version's id."""

    operation_id = "getElement"
    writing_ids = {"DELETE": "deleteElement"}
    versions = ApiVersions.up_to("4.0")
    parameters = ELEMENT_PARAMETERS

    def prepare(self, request: Request, **names: str) -> Prepared:
        view = self.view_of(names)
        query = self.query(request)
        allowed = view_names(self.configuration, view)
        wanted = Wanted(query.resources(USUAL_RESOURCES), query.select(allowed), query.expand(allowed))
        condition = self.condition(query, view_vocabulary(self.configuration, view))
        query.finish()
        row = self.element_in(view, names["elementId"])

        def show() -> HttpResponse:
            rows = [row] if self.matches(row, condition) else []
            return answer(counted(self.list_name, Assembler(self.reader, view, wanted).elements(rows)))

        return Prepared(show, row)

    @extend_schema(
        summary="Delete an element or a draft", parameters=schema.without(schema.ONE), responses={200: schema.Success}
    )
    def delete(self, request: Request, **names: str) -> HttpResponseBase:
        return self.delete_element(request, names)


@extend_schema(
    tags=["elements"], summary="Attributes of an element", parameters=schema.PART, responses=schema.AttributeMap
)
class AttributesView(ConditionalOperation):
    """The attributes that the view shows, or those that `$select` names."""

    operation_id = "listAttributes"
    versions = ApiVersions.up_to("1.0")
    parameters: ClassVar[tuple[str, ...]] = (FILTER, SELECT)

    def prepare(self, request: Request, **names: str) -> Prepared:
        view = self.view_of(names)
        query = self.query(request)
        select = query.select(view_names(self.configuration, view))
        condition = self.condition(query, view_vocabulary(self.configuration, view))
        query.finish()
        row = self.element_in(view, names["elementId"])
        if "attributeName" in names:
            select = self._only(names["attributeName"], row)
        wanted = Wanted(frozenset({ATTRIBUTES}), select)

        def list_attributes() -> HttpResponse:
            rows = [row] if self.matches(row, condition) else []
            found = Assembler(self.reader, view, wanted).elements(rows)
            return answer(counted("values", found[0].get(ATTRIBUTES, {}) if found else {}))

        return Prepared(list_attributes)

    def _only(self, name: str, row: VersionRow) -> frozenset[str]:
        type = self.reader.types[row.type]
        if not any(each.key == name and each.attribute for each in type.properties):
            raise NotFound(f"The type {type.key} has no attribute {name}.")
        return frozenset({name})


@extend_schema(
    tags=["elements"],
    summary="One attribute of an element",
    parameters=[*schema.FILTER_ONLY, *schema.without(schema.SELECT_ONLY)],
    responses=schema.AttributeMap,
)
class AttributeView(AttributesView):
    """The one attribute that the address names; it may be one that the view does not show."""

    operation_id = "getAttribute"
    parameters = (FILTER,)


class RelatedOperation(ConditionalOperation):
    versions = ApiVersions.up_to("1.0")

    def prepare_contexts(self, request: Request, view: CompiledView, named: str | None, element_id: str) -> Prepared:
        """All contexts of an element, or the one that is named; `$filter` is about what they refer to."""
        query = self.query(request)
        allowed = view_names(self.configuration, view)
        select = query.select(allowed) if named is None else frozenset({named})
        wanted = Wanted(frozenset({RELATED}), select, query.expand(allowed))
        condition = self.condition(query, self._target_vocabulary(view, named))
        query.finish()
        row = self.element_in(view, element_id)
        type = self.reader.types[row.type]
        if named is not None and not any(each.key == named and each.related for each in type.properties):
            raise NotFound(f"The type {type.key} has no related context {named}.")

        def list_contexts() -> HttpResponse:
            assembler = RelatedAssembler(self.reader, view, wanted)
            return answer(counted("values", assembler.contexts(row, condition, with_attributes=named is not None)))

        return Prepared(list_contexts)

    def _target_vocabulary(self, view: CompiledView, named: str | None) -> Vocabulary:
        key = ("target vocabulary", view.facet.name, view.view.name)
        if named is None:
            return self.configuration.keep(key, lambda: vocabulary_of(self.configuration, self._targets(view, None)))
        return vocabulary_of(self.configuration, self._targets(view, named))

    def _targets(self, view: CompiledView, named: str | None) -> Iterable[ElementType]:
        """The types that the contexts of the view's types can refer to; a release history refers to its own type."""
        contexts = {
            (shown.type.key, each.key, each.related)
            for shown in view.types.values()
            for each in shown.type.properties
            if each.related and named in (None, each.key)
        }
        return [
            type
            for type in self.configuration.types.values()
            if any(
                type.key == owner if context == derived.RELEASE_HISTORY else accepts(context, related, type)
                for owner, context, related in contexts
            )
        ]


@extend_schema(
    tags=["elements"], summary="Related contexts of an element", parameters=schema.RELATED, responses=schema.RelatedMap
)
class RelatedView(RelatedOperation):
    """The contexts that the view shows, or those that `$select` names, with their references."""

    operation_id = "listRelated"
    parameters = (FILTER, SELECT, EXPAND)

    def prepare(self, request: Request, **names: str) -> Prepared:
        return self.prepare_contexts(request, self.view_of(names), None, names["elementId"])


@extend_schema(
    tags=["elements"],
    summary="One related context of an element",
    parameters=schema.ONE_RELATED,
    responses=schema.RelatedMap,
)
class RelatedContextView(RelatedOperation):
    """The one context that the address names; expanded references carry the attributes of what is innermost."""

    operation_id = "getRelated"
    parameters = (FILTER, EXPAND)

    def prepare(self, request: Request, **names: str) -> Prepared:
        return self.prepare_contexts(request, self.view_of(names), names["relatedId"], names["elementId"])


@extend_schema(tags=["elements"], summary="Children of an element", responses=schema.ELEMENT_LIST)
class ChildrenView(ConditionalOperation):
    """The children in their order, as far as the view contains their types, each as the view shows it."""

    operation_id = "listChildren"
    versions = ApiVersions.up_to("4.0")

    def prepare(self, request: Request, **names: str) -> Prepared:
        view = self.view_of(names)
        self.query(request).finish()
        row = self.element_in(view, names["elementId"])

        def list_children() -> HttpResponseBase:
            assembler = Assembler(self.reader, view, Wanted())
            selection = selecting.children_of(self.reader.audience, row.element, assembler.child_types)
            return self.answer_list(assembler, selection, None)

        return Prepared(list_children, is_whole=True)


@extend_schema(tags=["elements"], summary="Content of a diagram", responses=schema.Content)
class ContentView(ConditionalOperation, WritingOperation):
    """The shapes of the element's diagram in their order, with what each shows and what precedes it."""

    operation_id = "getContent"
    versions = ApiVersions.up_to("2.0")
    writing_versions = ApiVersions.up_to("3.0")
    writing_ids = {"POST": "createContent"}
    writing_body = schema.ContentToDraw

    def prepare(self, request: Request, **names: str) -> Prepared:
        view = self.view_of(names)
        self.query(request).finish()
        row = self.element_in(view, names["elementId"])

        def list_shapes() -> HttpResponse:
            return answer(counted("elements", ContentAssembler(self.reader, view, content_wanted()).shapes(row)))

        return Prepared(list_shapes)

    @extend_schema(summary="Draw in a diagram", responses=schema.DrawnContent)
    def post(self, request: Request, **names: str) -> HttpResponseBase:
        """Create content, operation 11. It never reads (D2)."""
        return self.once(request, lambda: self.draw(request, names))

    def draw(self, request: Request, names: dict[str, str]) -> HttpResponse:
        writer = self.writer(request)
        view = self.view_of(names)
        self.query(request).finish()
        owner = self.element_in(view, names["elementId"])
        findings = Findings()
        items = ItemReader(findings).items(request.data)
        refuse_many(len(items), "items")
        shapes = draw(writer, view, owner, items, findings, lambda rows: self.check_match(request, rows))
        drawn = [{"id": shape, "index": item.index} for shape, item in zip(shapes, items, strict=True)]
        return answer({"values": drawn})


@extend_schema(tags=["elements"], summary="What the caller can do with an element", responses=schema.ElementInfos)
class InfoView(ElementOperation):
    """Permissions and capabilities, computed for the caller by the rules that writing enforces."""

    operation_id = "getElementInfo"
    speaks = True
    versions = ApiVersions.up_to("1.0")

    def read(self, request: Request, **names: str) -> HttpResponse:
        view = self.view_of(names)
        self.query(request).finish()
        row = self.element_in(view, names["elementId"])
        cultures = self.configuration.cultures
        self.varies_by_language = True
        accepted = request.headers.get("Accept-Language", "")
        culture = preferred_culture(accepted, cultures.data, cultures.default)
        return answer(counted("values", [element_info(self.reader, self.caller, view, row, culture)]))


@extend_schema(
    tags=["elements"], summary="Versions of an element", parameters=schema.ONE, responses=schema.ELEMENT_LIST
)
class VersionsView(ConditionalOperation):
    """All versions, oldest first, each with the release history."""

    operation_id = "listVersions"
    versions = ApiVersions.up_to("4.0")
    parameters = ELEMENT_PARAMETERS

    def prepare(self, request: Request, **names: str) -> Prepared:
        view = self.view_of(names)
        query = self.query(request)
        allowed = view_names(self.configuration, view)
        wanted = Wanted(
            query.resources(USUAL_RESOURCES),
            query.select(allowed),
            query.expand(allowed),
            also=frozenset({derived.RELEASE_HISTORY}),
        )
        condition = self.condition(query, view_vocabulary(self.configuration, view))
        query.finish()
        row = self.element_in(view, names["elementId"])

        def list_versions() -> HttpResponseBase:
            selection = selecting.versions_of(self.reader.audience, row.element).matching(condition)
            return self.answer_list(Assembler(self.reader, view, wanted), selection, None)

        return Prepared(list_versions, is_whole=True)


class ReportingOperation(ConditionalOperation):
    """Reads the facet through its view `reporting`, with attributes of its own (D14)."""

    versions = ApiVersions.up_to("4.0")
    list_name = "values"

    def prepare(self, request: Request, **names: str) -> Prepared:
        require_reporting(self.caller)
        view = self.configuration.facet(names["facetId"]).view(REPORTING)
        query = self.query(request)
        plain = view_names(self.configuration, view)
        allowed = replace(plain, properties=plain.properties | REPORTING_ATTRIBUTES.keys())
        wanted = Wanted(
            query.resources(REPORTING_RESOURCES),
            query.select(allowed),
            query.expand(allowed),
            also=frozenset(REPORTING_ATTRIBUTES),
        )
        condition = self.condition(query, self._vocabulary(view))
        paging = query.paging()
        query.finish()
        if "elementId" in names:
            row = self.element_in(view, names["elementId"])
            selection = selecting.these_versions([row.version])
        else:
            selection = list_selection(self, view)

        def report() -> HttpResponseBase:
            assembler = ReportAssembler(self.reader, view, wanted)
            return self.answer_list(assembler, selection.matching(condition), paging, for_reporting=True)

        return Prepared(report, is_whole=paging is None and "elementId" not in names)

    def _vocabulary(self, view: CompiledView) -> Vocabulary:
        def make() -> Vocabulary:
            return vocabulary_of(self.configuration, map(_reporting_type, (each.type for each in view.types.values())))

        return self.configuration.keep(("reporting vocabulary", view.facet.name), make)


def _reporting_type(type: ElementType) -> ElementType:
    if not type.is_versioned:
        return type
    own = {each.key for each in type.properties}
    extras = tuple(
        Property(name, (), attribute=Attribute(data_type, is_invariant_culture=True))
        for name, data_type in REPORTING_ATTRIBUTES.items()
        if name not in own
    )
    return replace(type, properties=(*type.properties, *extras))


@extend_schema(
    tags=["reporting"], summary="Elements of a facet for reporting", parameters=schema.REPORT, responses=schema.Report
)
class ReportingView(ReportingOperation):
    """The roots of the facet's view `reporting`, with children, content and versions written out."""

    operation_id = "listReporting"
    parameters = (*ELEMENT_PARAMETERS, PAGE, PAGE_SIZE)


@extend_schema(tags=["reporting"], summary="One element for reporting", parameters=schema.ONE, responses=schema.Report)
class ReportingElementView(ReportingOperation):
    """One element, with children, content and versions written out."""

    operation_id = "getReporting"
    parameters = ELEMENT_PARAMETERS
