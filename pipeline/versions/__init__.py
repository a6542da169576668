"""Versions of a run: made by updates, rolled back, compacted, pruned.

In: a run, and a table or a folder of files whose edges come or go. Out: the next version, which
stands on the files of those before it.
"""
