"""Commands, flows and `import bicliq` from the table to the answer, in real stores and clusters.

In: small tables with known answers. Out: what users see: answers, words, exit codes, files.
"""
