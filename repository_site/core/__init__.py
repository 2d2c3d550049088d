"""Foundation: everything that apps may import. It imports no app."""
