"""Faults while commands are at work: processes killed, disks full, connections cut, clocks set.

In: real commands, servers and disks, and how many faults (BICLIQ_FAULTS, `make faults`). Out:
whether all that was committed is there afterwards, and nothing is there twice.
"""
