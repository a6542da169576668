"""Where work runs: this process or a Dask cluster, the CPU or a GPU, and arrays of either."""
