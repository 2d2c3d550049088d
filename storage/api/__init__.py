"""The HTTP API of the storage app: authentication, the base viewset, storage info and administrative contexts."""
