"""Running an installation: server, health checks, logs, metrics, traces and the doctor."""
