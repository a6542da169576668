"""The house rules: which room imports which, files that fit a head, prose that fits a screen, names
that are used, rooms that say what they are for.

In: all files of the checkout. Out: a line a fault, with what to do. `make lint` runs it.
"""
