"""Full-text search (D380 to D387): what a text finds, in which order, and how it is shown."""
