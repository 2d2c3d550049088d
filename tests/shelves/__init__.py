"""Two small tenant tables for the tests of the tenancy; one refers to the other and to itself."""
