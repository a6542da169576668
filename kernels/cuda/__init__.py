"""The GPU drivers: each loads its kernels, or compiles them first, and runs them by CuPy."""
