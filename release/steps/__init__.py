"""Building blocks of every lifecycle step: locks, permissions, effects and the log."""
