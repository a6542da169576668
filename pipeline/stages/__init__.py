"""The stages of a run, in the order of the data.

Ingest, reduce, profile, plan, partition, search, publish.
"""
