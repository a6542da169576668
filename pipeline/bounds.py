"""Bounds that settings and commands share, apart from them so that help needs no settings."""

MOST_THREADS = 4096
"""More than any machine has cores; a system that refuses to start still more ends the process."""
