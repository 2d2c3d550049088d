"""The programs that the benchmark compares with the service."""
