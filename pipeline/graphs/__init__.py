"""Graphs in memory: bipartite, undirected, projected, reduced, with the times of actions.

In: columns of vertices, or a stored graph. Out: CSR arrays, on the host or on a GPU, ready for the
kernels.
"""
