"""Where work runs: this process or a Dask cluster, the CPU or a GPU, and arrays of either.

In: settings, what the work would take, and tasks. Out: where it runs, with the reason in words, and
the results of the tasks as they end.
"""
