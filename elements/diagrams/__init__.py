"""Diagrams as pictures: layout, texts and SVG. Pure: knows neither rows nor requests; `reading/diagrams` uses it."""
