"""Numbers and sizes of content: counts, files, and the limits of the installation."""
