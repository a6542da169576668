"""`python -m flows.cli` is `bicliq`."""

from flows.cli.app import main

main()
