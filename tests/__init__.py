"""The suite mirrors the apps. Two storages exist wherever one does, so that a leak shows."""
