"""The Prefect server of the flows that faults happen to."""

from tests.integration.conftest import prefect_server

__all__ = ["prefect_server"]
