"""The face of Bicliq to people and to Prefect: commands (`flows.cli`) and flows.

In: options, variables of the environment, `bicliq.toml`, parameters of deployments. Out: stages of
the pipeline, called in their order; words, JSON, artifacts of Prefect, and an exit code. A flow
wraps functions of the pipeline and decides nothing itself.
"""
