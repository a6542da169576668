"""The Prefect server of the integration tests."""

from tests.integration.conftest import prefect_server

__all__ = ["prefect_server"]
