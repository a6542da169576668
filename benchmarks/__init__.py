"""Measurements beside published figures: `python -m benchmarks --help`, in a checkout.

In: graphs by name (BICLIQ_DATA names the folder of the larger ones) or files. Out: a table, or one
object with --json, with ratios to the peers of `peers.toml` and the machine's facts. Each module
asks one question; `generate` and `rings` make tables to ask it of. Not part of the wheel.
"""
