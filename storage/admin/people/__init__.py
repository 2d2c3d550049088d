"""Invitations, sessions and second factors of people, in the back offices (D550 to D553)."""
