"""The suite mirrors the apps. Two storages exist in every test that has one, so that a leak shows."""
