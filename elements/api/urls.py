"""Addresses of the operations on elements."""

from django.urls import path

from elements.api.bulk.bulk_viewset import BulkViewSet
from elements.api.comparing.comparison_viewset import ComparisonViewSet
from elements.api.compatible.data_viewset import DataViewSet
from elements.api.compatible.report_viewset import CompatibleReportViewSet
from elements.api.diagrams.bpmn_viewset import BpmnViewSet
from elements.api.diagrams.content_viewset import ContentViewSet
from elements.api.diagrams.diagram_viewset import DiagramViewSet
from elements.api.element_parts_viewset import ElementPartsViewSet
from elements.api.element_viewset import ElementViewSet
from elements.api.events.changes_viewset import ChangesViewSet
from elements.api.events.subscriptions_viewset import SubscriptionsViewSet
from elements.api.events.webhook_viewset import WebhookViewSet
from elements.api.files.file_viewset import FileViewSet
from elements.api.finding.permalink_viewset import PermalinkViewSet
from elements.api.finding.search_viewset import SearchViewSet
from elements.api.permissions.set_viewset import PermissionSetViewSet
from elements.api.reporting_viewset import ReportingViewSet
from elements.api.type_schema_viewset import TypeSchemaViewSet
from storage.api.viewset import reads

REST = "<str:collectionId>/<str:storageId>/_api/rest"
FACET = f"{REST}/facets/<str:facetId>"
ELEMENTS = f"{FACET}/views/<str:viewId>/elements"
ELEMENT = f"{ELEMENTS}/<str:elementId>"
SHAPE = f"{ELEMENT}/content/<str:shapeId>"
PICTURES = f"{REST}/diagram/<str:elementId>/render"
BPMN = "<str:collectionId>/<str:storageId>/_api/v1/bpmn/<str:elementId>"
WEBHOOKS = f"{REST}/webhooks"
WEBHOOK = f"{WEBHOOKS}/<str:webhookId>"
SUBSCRIPTIONS = "<str:collectionId>/<str:storageId>/_api/v1/subscriptions/<str:elementId>"
PERMALINKS = "<str:collectionId>/<str:storageId>/_api/v1/permalinks"
REPORTS = "<str:collectionId>/<str:storageId>/_api/v1/reporting"
DATA = "<str:collectionId>/<str:storageId>/_api/v2/data/elements"
PERMISSION_SETS = f"{REST}/permissions/permissionsets"
TYPES = "<str:collectionId>/<str:storageId>/_api/schema/types"

urlpatterns = [
    # Django tries addresses in this order: first those of most requests.
    path(ELEMENTS, ElementViewSet.as_view({"get": "list", "head": "list", "post": "update_elements"})),
    path(f"{ELEMENTS}/query", ElementViewSet.as_view({"post": "query_elements"})),
    path(ELEMENT, ElementViewSet.as_view({**reads("retrieve"), "delete": "destroy"})),
    path(f"{REST}/changes", ChangesViewSet.as_view(reads("list"))),
    path(f"{REST}/compare", ComparisonViewSet.as_view(reads("list"))),
    path(f"{REST}/search", SearchViewSet.as_view(reads("list"))),
    path(f"{REST}/search/suggestions", SearchViewSet.as_view(reads("suggest_elements"))),
    path(f"{REST}/files", FileViewSet.as_view({"post": "create"})),
    path(f"{REST}/files/<str:fileId>", FileViewSet.as_view({"get": "retrieve", "head": "retrieve"})),
    path(WEBHOOKS, WebhookViewSet.as_view({"get": "list", "head": "list", "post": "create"})),
    path(WEBHOOK, WebhookViewSet.as_view({**reads("retrieve"), "patch": "partial_update", "delete": "destroy"})),
    path(f"{WEBHOOK}/test", WebhookViewSet.as_view({"post": "test_webhook"})),
    path(f"{WEBHOOK}/rotate", WebhookViewSet.as_view({"post": "rotate_webhook_secret"})),
    path(f"{WEBHOOK}/deliveries", WebhookViewSet.as_view(reads("list_webhook_deliveries"))),
    path(f"{WEBHOOK}/redeliver", WebhookViewSet.as_view({"post": "redeliver_to_webhook"})),
    path(
        f"{PERMISSION_SETS}/<str:elementId>",
        PermissionSetViewSet.as_view({**reads("retrieve"), "put": "update", "delete": "destroy"}),
    ),
    path(
        f"{REST}/permissions/facets/<str:facetId>",
        PermissionSetViewSet.as_view({**reads("get_facet_permission_set"), "put": "set_facet_permission_set"}),
    ),
    path(TYPES, TypeSchemaViewSet.as_view(reads("list"))),
    path(f"{TYPES}/<str:type>", TypeSchemaViewSet.as_view(reads("retrieve"))),
    path(f"{ELEMENT}/attributes", ElementPartsViewSet.as_view(reads("list_attributes"))),
    path(f"{ELEMENT}/attributes/<str:attributeName>", ElementPartsViewSet.as_view(reads("get_attribute"))),
    path(f"{ELEMENT}/related", ElementPartsViewSet.as_view(reads("list_related"))),
    path(f"{ELEMENT}/related/<str:relatedId>", ElementPartsViewSet.as_view(reads("get_related"))),
    path(f"{ELEMENT}/referencedBy", ElementPartsViewSet.as_view(reads("list_referrers"))),
    path(f"{ELEMENT}/children", ElementViewSet.as_view(reads("list_children"))),
    path(f"{ELEMENT}/delete", ElementViewSet.as_view({"post": "delete_element_by_post"})),
    path(f"{ELEMENT}/compare", ComparisonViewSet.as_view(reads("retrieve"))),
    path(f"{ELEMENT}/history", ElementViewSet.as_view(reads("list_changes"))),
    path(f"{ELEMENT}/info", ElementViewSet.as_view(reads("get_element_info"))),
    path(f"{ELEMENT}/versions", ElementViewSet.as_view(reads("list_versions"))),
    path(
        f"{ELEMENT}/content",
        ContentViewSet.as_view({"get": "retrieve", "head": "retrieve", "post": "create", "put": "update"}),
    ),
    path(SHAPE, ContentViewSet.as_view({"delete": "destroy"})),
    path(f"{SHAPE}/delete", ContentViewSet.as_view({"post": "delete_shape_by_post"})),
    path(f"{FACET}/views/<str:viewId>/bulk", BulkViewSet.as_view({"post": "create"})),
    path(f"{FACET}/views/<str:viewId>/bulk/<str:bulkId>", BulkViewSet.as_view(reads("retrieve"))),
    path(f"{FACET}/views/<str:viewId>/bulk/<str:bulkId>/stop", BulkViewSet.as_view({"post": "stop_bulk_change"})),
    path(f"{FACET}/reporting", ReportingViewSet.as_view(reads("list"))),
    path(f"{FACET}/reporting/<str:elementId>", ReportingViewSet.as_view(reads("retrieve"))),
    path(PICTURES, DiagramViewSet.as_view(reads("list"))),
    path(f"{PICTURES}/<str:cultureId>/<str:layoutKey>", DiagramViewSet.as_view(reads("retrieve"))),
    path(
        SUBSCRIPTIONS,
        SubscriptionsViewSet.as_view({"get": "list", "head": "list", "post": "create", "delete": "destroy"}),
    ),
    path(PERMALINKS, PermalinkViewSet.as_view({"get": "list", "head": "list", "post": "create"})),
    path(REPORTS, CompatibleReportViewSet.as_view(reads("list"))),
    path(f"{REPORTS}/<str:elementId>", CompatibleReportViewSet.as_view(reads("retrieve"))),
    path(DATA, DataViewSet.as_view(reads("list"))),
    path(f"{DATA}/<str:elementId>", DataViewSet.as_view(reads("retrieve"))),
    path(BPMN, BpmnViewSet.as_view({"get": "retrieve", "head": "retrieve", "post": "create"})),
]
