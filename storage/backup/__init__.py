"""The backup of one storage: all its rows, of whatever tables there are, in one file; and the way back (D161)."""
