"""The landing page, and the overviews, titles and navigation of the two back offices."""
