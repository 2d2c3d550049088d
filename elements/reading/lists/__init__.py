"""Lists of elements: filters, selection, order and pages, and the batches and streams of their JSON."""
