"""BPMN 2.0 documents: `document` and `generating` are pure; import and export use them and the database."""
