"""The roof (settings, urls, server) and, in `rest/`, the floor that every app stands on."""
