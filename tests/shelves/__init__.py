"""Two small tenant tables, one referring to the other and to itself, on which the tenancy is tested as such."""
