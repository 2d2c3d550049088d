"""The BPMN document: its vocabulary, its tree, its checks, and the diagram that it contains. Pure."""
