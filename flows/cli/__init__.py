"""The command line: rooms of commands by what they are about, and `app`, which runs them.

A room makes `commands` of functions, with their `options`; `console` prints what they answer.
"""

from bicliq.flows.cli.app import invoke, main

__all__ = ["invoke", "main"]
