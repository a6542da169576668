"""The command line: rooms of commands by what they are about, their `options` and `console`, and `app`, which runs them."""

from flows.cli.app import invoke, main

__all__ = ["invoke", "main"]
