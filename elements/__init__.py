"""Elements, their versions, references and diagrams: reading, writing, filtering."""
