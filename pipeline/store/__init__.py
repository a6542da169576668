"""What lies in a store: its layout, the files of bicliques, and how a run is read back.

In: bicliques and records, to a disk or an object storage. Out: files that appear whole or not at
all, and are checked when they are read. docs/store.md lists them.
"""
