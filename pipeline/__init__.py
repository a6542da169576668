"""Data engineering around the kernels: tables, plans, storage, clusters.

In: an edge table and settings. Out: a store with a published run in it, or the answer to a
question.

The stages and their order are the list `STAGES` of `run`; `stages` has what each does. Each takes
the store and small records, and can be run alone, repeated and resumed. `import bicliq` is what
others use; the modules of this package may move.
"""
