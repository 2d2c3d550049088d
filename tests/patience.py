"""Time limits of tests. Only a failure reaches them: tests wait for a condition, and go on at once when it is true."""

from __future__ import annotations

# Other programs may keep the machine busy, so everything can take several times as long.
SLOWER = 4.0
# Seconds that this may add to a time limit of the service.
BUSY_SECONDS = 15.0
