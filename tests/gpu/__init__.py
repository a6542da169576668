"""What only a machine with an NVIDIA GPU can try: `make test-gpu`; elsewhere each is skipped.

In: graphs of all kinds, and the graphics card. Out: whether its answers are those of the CPU.
"""
