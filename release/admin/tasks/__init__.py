"""Tasks in the back office: the list, a task's page, and its steps."""
