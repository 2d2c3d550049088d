"""Identity providers in the site's back office: their settings, and their rules (D501, D503)."""
