"""Isolation of tenants: the tenant scope, addresses, system checks and migration operations."""
