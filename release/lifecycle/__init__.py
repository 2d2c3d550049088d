"""Transitions, new versions and the validation rules that guard them."""
