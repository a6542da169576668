"""`python -m bicliq.flows.cli` is `bicliq`."""

from bicliq.flows.cli.app import main

main()
