"""`python -m bicliq` is `bicliq`."""

from bicliq.flows.cli.app import main

main()
