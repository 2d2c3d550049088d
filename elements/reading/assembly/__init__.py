"""The wire form of elements: projection, attributes, links and references."""
