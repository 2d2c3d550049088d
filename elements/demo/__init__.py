"""Content to try the service with: the showcase, and generated elements."""
