"""Measurements beside published figures: each module one question, for `bicliq bench`."""
