"""The BPMN document of a stored diagram, with places for everything that nobody has drawn. Pure."""
