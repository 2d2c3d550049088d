"""What the element list shows: its filters, and pages of bounded cost."""
