"""The command line: rooms of commands by what they are about, and `app`, which runs them.

A room makes `commands` of functions, with their `options`; `console` prints what they answer.

In: the words of a command line. Out: text or, with ``--json``, one object on standard output,
sentences on standard error, and an exit code.
"""

from bicliq.flows.cli.app import invoke, main

__all__ = ["invoke", "main"]
