"""The notebooks and the pictures of the gallery.

In: `notebooks/*.py` and docs/gallery.py. Out: whether they run and say what they should.
"""
