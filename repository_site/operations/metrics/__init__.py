"""Numbers for Prometheus: taken in each worker process, kept in memory that all of them share, shown at `/metrics`."""
