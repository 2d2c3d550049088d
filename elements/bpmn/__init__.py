"""BPMN 2.0 documents: reading, writing and mapping to diagrams. Only importing and exporting use the database."""
