"""Differences between two versions of an element, or one element at two times: for the API and the back office."""
