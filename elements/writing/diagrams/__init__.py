"""Changes of diagrams: drawing, erasing, and replacing a diagram as a whole."""
