"""What people do with the bicliques of a run: choose among them, page, convert, export.

In: a run, or two versions to compare, and a choice. Out: tables with the original ids, in the
library that people know, or files of other programs.
"""
