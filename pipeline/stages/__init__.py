"""The stages of a run, in the order of the data: ingest, reduce, profile, plan, partition, search, publish."""
