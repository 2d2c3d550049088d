"""Tables in the back office: export of a list, and import."""
