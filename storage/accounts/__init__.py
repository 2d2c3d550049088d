"""Access of people to their accounts: invitations, passwords, sessions, second factors (D550 to D553)."""
