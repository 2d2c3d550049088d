"""Fairness between storages and callers: no request takes more than its share while others want theirs (D195)."""
