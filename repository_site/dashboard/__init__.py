"""Overview pages, titles and navigation of the two back offices."""
