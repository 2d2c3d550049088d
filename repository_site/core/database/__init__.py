"""The Django database engine of the project: PostgreSQL, with the embedded server started when it is needed."""
