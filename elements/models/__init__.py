"""Elements, their versions, references and diagrams."""

from elements.models.appearance import Appearance
from elements.models.bulk import BulkRefusal, BulkRun
from elements.models.changes import ElementChange
from elements.models.diagrams import (
    BpmnSource,
    Lane,
    PastBpmnSource,
    PastLane,
    PastShape,
    PastShapeFlow,
    Shape,
    ShapeFlow,
)
from elements.models.elements import Element, ElementVersion, PastElement, PastElementVersion
from elements.models.files import VersionFile
from elements.models.marks import ContentMark, StructureMark
from elements.models.names import PastVersionName, VersionName
from elements.models.people import User, UserGroup
from elements.models.permalinks import LinkType, Permalink
from elements.models.permissions import InheritedSet
from elements.models.references import PastReference, Reference
from elements.models.saved_lists import SavedList
from elements.models.search import SearchDocument, SearchFile, SearchPosting, SearchWord
from elements.models.tables import TableImport, TableMapping

__all__ = [
    "Appearance", "BpmnSource", "BulkRefusal", "BulkRun", "ContentMark", "Element", "ElementChange", "ElementVersion",
    "InheritedSet", "Lane", "LinkType", "PastBpmnSource", "PastElement", "PastElementVersion", "PastLane",
    "PastReference", "PastShape", "PastShapeFlow", "PastVersionName", "Permalink", "Reference", "SavedList",
    "SearchDocument", "SearchFile", "SearchPosting", "SearchWord", "Shape", "ShapeFlow", "StructureMark", "TableImport",
    "TableMapping", "User", "UserGroup", "VersionFile", "VersionName",
]  # fmt: skip
