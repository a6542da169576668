"""The stages of a run, in the order of the data.

Ingest, reduce, profile, plan, partition, search, publish; and verify, which reads all of it again.

In: a store, the records of the stages before, settings. Out: files of the store, and last the
record that names them.
"""
