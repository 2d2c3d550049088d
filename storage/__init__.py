"""Collections, storages (the tenants), tokens and callers, tenancy, provisioning and storage info."""
