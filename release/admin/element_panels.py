"""What the page of an element shows of its lifecycle, and the transitions it offers."""
