"""`python -m benchmarks`, in a checkout."""

from benchmarks.commands import application
from bicliq.flows.cli.app import main

main(application)
