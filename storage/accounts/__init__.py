"""How people get an account and keep it safe: invitations, passwords, sessions, second factors (D550 to D553)."""
