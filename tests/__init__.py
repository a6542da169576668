"""Tests, each through the door that users take; here what those of several rooms share.

In: graphs of `tests/data`, larger ones where BICLIQ_DATA names their folder, servers that are
started once a session, stand-ins for a GPU. Out: nothing outside of pytest's folders.
"""
