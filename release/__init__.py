"""The release lifecycle: cycles, transitions, validation, tasks."""
