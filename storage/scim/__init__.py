"""SCIM 2.0 (D540 to D547): directories provision the people and groups of a collection.

scim2-models and pydantic are imported with the first request of a directory, by `protocol.py` and what it uses.
"""
