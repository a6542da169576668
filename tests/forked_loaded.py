"""What the server that forks processes has loaded (`tests.forked`)."""

import distributed
import s3fs

import bicliq.flows.cli.app
import bicliq.flows.cli.console
import bicliq.pipeline.placement.cluster
import bicliq.pipeline.placement.tasks
import bicliq.pipeline.questions.count
import bicliq.pipeline.questions.find
import bicliq.pipeline.repair
import bicliq.pipeline.run
import bicliq.pipeline.stages.verify
import bicliq.pipeline.store.results
import bicliq.pipeline.versions.compact
import bicliq.pipeline.versions.prune
import bicliq.pipeline.versions.rollback
import bicliq.pipeline.versions.update
import bicliq.pipeline.versions.watch

__all__ = ["bicliq", "distributed", "s3fs"]
