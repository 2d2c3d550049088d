"""Bulk changes (D471): many elements, the same operations, refusals for each element, and a report."""
