"""The command line: `app` holds the commands, `options` what they have in common, `console` all that is printed."""

from flows.cli.app import invoke, main

__all__ = ["invoke", "main"]
