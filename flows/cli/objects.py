"""Answers as JSON, apart from what draws tables, so that an error is said without it, too."""

from __future__ import annotations

import json
import sys
from typing import Any

Record = dict[str, Any]


def print_json(record: Record) -> None:
    """Print one JSON object on standard output, in UTF-8 whatever the locale.

    What UTF-8 cannot hold (names of files that are no text) is escaped, as JSON escapes it.
    """
    line = json.dumps(record, default=str, ensure_ascii=False) + "\n"
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:  # a notebook's output takes text only
        sys.stdout.write(line)
        return
    sys.stdout.flush()
    buffer.write(line.encode("utf-8", "backslashreplace"))
    buffer.flush()
