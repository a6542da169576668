"""What the stages of a run do, whose list and order is `STAGES` of `pipeline.run`.

`reduce` and `partition` are parts of `plan`; `extend` is what an update does for `ingest`.

In: a store, the records of the stages before, settings. Out: files of the store, and last the
record that names them.
"""
