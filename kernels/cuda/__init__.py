"""The GPU drivers: each compiles its kernels of `kernels/src` at run time and runs them through CuPy."""
