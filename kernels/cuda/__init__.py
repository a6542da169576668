"""The GPU drivers: each loads its kernels, or compiles them first, and runs them by CuPy.

In: graphs as the kernels have them, on the host or on a device, and a share of its memory. Out: the
answers of the CPU, bit for bit, or a `BackendError` that says why there are none.
"""
