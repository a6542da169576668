"""The GPU drivers: each takes its kernels' machine code, or compiles them, and runs them by CuPy."""
