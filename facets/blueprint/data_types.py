"""The data types of attributes (D16) and the runtime names that clients know for them."""

from __future__ import annotations

from enum import StrEnum


class DataType(StrEnum):
    SINGLE_LINE_TEXT = "SingleLineText"
    MULTI_LINE_TEXT = "MultiLineText"
    HTML = "Html"
    SELECTION_VALUE = "SelectionValue"
    MULTI_SELECTION_VALUE = "MultiSelectionValue"
    BOOLEAN = "Boolean"
    INTEGER = "Integer"
    DECIMAL = "Decimal"
    DATE = "Date"
    DATE_TIME = "DateTime"
    URL = "Url"
    FILES = "Files"

    @property
    def has_selectable_values(self) -> bool:
        return self in (DataType.SELECTION_VALUE, DataType.MULTI_SELECTION_VALUE)


RUNTIME_NAMES = {
    DataType.SINGLE_LINE_TEXT: "System.String",
    DataType.MULTI_LINE_TEXT: "System.String",
    DataType.HTML: "System.String",
    DataType.SELECTION_VALUE: "System.String",
    DataType.MULTI_SELECTION_VALUE: "System.String[]",
    DataType.BOOLEAN: "System.Boolean",
    DataType.INTEGER: "System.Int32",
    DataType.DECIMAL: "System.Decimal",
    DataType.DATE: "System.DateTime",
    DataType.DATE_TIME: "System.DateTime",
    DataType.URL: "System.String",
    DataType.FILES: "System.Object[]",
}
