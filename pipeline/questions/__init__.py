"""Questions that are answered without a list of bicliques: (p,q)-counts and maximum cliques."""
