"""Records of stages, compared between a GPU and the CPU."""

from __future__ import annotations

from dataclasses import asdict, is_dataclass
from typing import Any


def without_times(record: Any) -> Any:
    """A record as plain values, without what was measured with a clock."""
    if is_dataclass(record) and not isinstance(record, type):
        record = asdict(record)
    if not isinstance(record, dict):
        return record
    timeless = {name: value for name, value in record.items() if name != "seconds" and not name.endswith("_seconds")}
    return {name: without_times(value) for name, value in timeless.items()}
