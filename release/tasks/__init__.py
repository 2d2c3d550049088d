"""Tasks: decisions, approvers, reminders and their lists."""
