"""Pages about an account that are outside of storages: invitation, password, second factor (D550 to D553)."""
