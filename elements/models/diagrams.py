from __future__ import annotations

from django.db import models

from storage.models.past import DatedModel, past_rows_of
from storage.models.tenant import tenant_link


class Lane(DatedModel):
    """A lane of the diagram of a version, or a pool: the rectangle around a process and its lanes (D270)."""

    storage_through = "version"
    concerns = ("element_id",)

    version = tenant_link("elements.ElementVersion", "lanes")
    position = models.PositiveIntegerField()
    name = models.JSONField(default=dict, help_text="Text by culture.")
    element = tenant_link("elements.Element", "lanes", null=True)
    parent = tenant_link("elements.Lane", "lanes", null=True)
    is_pool = models.BooleanField(default=False)
    bounds = models.JSONField(null=True)
    bpmn_id = models.TextField(default="", blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["storage_id", "version", "position"], name="lane_position_once")]
        indexes = [
            models.Index(fields=["storage_id", "element"], name="lane_by_element"),
            models.Index(fields=["storage_id", "parent"], name="lane_by_parent"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Shape(DatedModel):
    """An element drawn in the diagram of a version; its id is the shapeId of the API."""

    storage_through = "version"
    concerns = ("element_id",)

    version = tenant_link("elements.ElementVersion", "shapes")
    element = tenant_link("elements.Element", "shapes")
    position = models.PositiveIntegerField()
    bounds = models.JSONField(null=True, help_text="Rectangle as drawn: x, y, width and height.")
    lane = tenant_link("elements.Lane", "shapes", null=True)
    container = tenant_link("elements.Shape", "contained", null=True)
    host = tenant_link("elements.Shape", "attached", null=True)
    bpmn_id = models.TextField(default="", db_default="", blank=True, help_text="Id in the imported BPMN file.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["storage_id", "version", "position"], name="shape_position_once")
        ]
        indexes = [
            models.Index(fields=["storage_id", "element"], name="shape_by_element"),
            # The database looks for these when a lane or a shape is deleted. Most shapes have none of them.
            models.Index(fields=["storage_id", "lane"], condition=models.Q(lane__isnull=False), name="shape_by_lane"),
            models.Index(
                fields=["storage_id", "container"],
                condition=models.Q(container__isnull=False),
                name="shape_by_container",
            ),
            models.Index(fields=["storage_id", "host"], condition=models.Q(host__isnull=False), name="shape_by_host"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class ShapeFlow(DatedModel):
    """An arrow of a diagram: `predecessor` comes before `shape`. Both are of the same version."""

    storage_through = "shape"
    concerns = ("shape.element_id", "predecessor.element_id")

    shape = tenant_link("elements.Shape", "predecessors")
    predecessor = tenant_link("elements.Shape", "successors")
    position = models.PositiveIntegerField()
    label = models.JSONField(default=dict, db_default={}, help_text="Text by culture, such as a condition.")
    bpmn_id = models.TextField(default="", db_default="", blank=True)
    waypoints = models.JSONField(null=True, help_text="Points of the line as drawn: a list of [x, y].")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["storage_id", "shape", "predecessor"], name="flow_once"),
        ]
        indexes = [models.Index(fields=["storage_id", "predecessor"], name="flow_by_predecessor")]

    def __str__(self) -> str:
        return f"{self.predecessor_id} -> {self.shape_id}"


class BpmnSource(DatedModel):
    """The BPMN document that was last imported into a version. An export starts from it (D271)."""

    storage_through = "version"
    concerns = ("version.element_id",)

    version = tenant_link("elements.ElementVersion", "+")
    document = models.TextField()
    processes = models.JSONField(
        default=list, db_default=[], help_text="BPMN ids of its processes, by which other documents call them."
    )

    calls = models.JSONField(
        default=list, db_default=[], help_text="BPMN ids of the processes that its call activities name."
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["storage_id", "version"], name="bpmn_source_once")]

    def __str__(self) -> str:
        return str(self.version_id)


PastLane = past_rows_of(Lane, past_lane_by_version=("version_id", "position"), past_lane_by_element=("element_id",))
PastShape = past_rows_of(
    Shape,
    past_shape_by_id=("row_id",),
    past_shape_by_version=("version_id", "position"),
    past_shape_by_element=("element_id",),
)
PastShapeFlow = past_rows_of(ShapeFlow, past_flow_by_shape=("shape_id",), past_flow_by_predecessor=("predecessor_id",))
PastBpmnSource = past_rows_of(BpmnSource, past_bpmn_source_by_version=("version_id",))
