"""A flow as figures: its structure, its lanes, its composition, and hints for the person who draws it."""
