"""Graphs in memory: bipartite, undirected, projected, generated."""
