"""A thousand runs and versions one after the other, many processes at once: `make load`.

In: how many (BICLIQ_LOAD). Out: whether the last takes longer or holds more than the first.
"""
