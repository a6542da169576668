"""`python -m benchmarks`, in a checkout."""

from benchmarks.application import application
from bicliq.flows.cli.app import main

main(application)
