"""Messages to people: who gets them, and what a person wants to get by mail (D370 to D372)."""
