"""Versions of a run: made by updates, compared with each other."""
