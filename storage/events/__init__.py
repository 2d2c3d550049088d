"""Events of changes (D325 to D332): recording, numbers, cursors, waking, retention."""
