"""Random graphs, tables and damage, drawn by hypothesis, against brute force (`tests.reference`).

In: what strategies draw (`graphs` has those of graphs). Out: whether answers are the definition's.
"""
