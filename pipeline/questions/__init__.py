"""Questions beside the enumeration: counts, maximum cliques, the best groups, rules, concepts.

In: an edge table or a run, and what is asked. Out: a record of the answer, which says what was read
and what was left out.
"""
