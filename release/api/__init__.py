"""The HTTP API of transitions, versions, the lifecycle log and tasks."""
