"""The GPU drivers: each compiles its kernels at run time and runs them through CuPy."""
