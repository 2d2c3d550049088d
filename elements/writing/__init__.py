"""Changing elements: a request is read (`inputs`), held against what is stored and configured, written, and recorded.

One function a change (`updating`, `drawing`, `deleting`), each one transaction. All problems of a request are found
before anything is written, and are told together.
"""
