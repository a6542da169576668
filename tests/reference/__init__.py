"""Slow and obvious answers, from definitions alone: nothing here calls a kernel.

In: small tables as sets and lists. Out: the answers that the product must give.
"""
