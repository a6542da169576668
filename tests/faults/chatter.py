"""What a scheduler of Dask says and hears, counted: ``dask scheduler --preload`` of this module.

A message is what one end of a connection sends at a time: often several operations together, as
Dask batches them. The counts are written to ``chatter.json`` as the scheduler ends.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from distributed.comm.tcp import TCP

SAID = Counter[str]()
"""Messages by direction and address, as "to 10.0.1.2", and operations by their names."""


def _count(direction: str, comm: Any, message: Any) -> None:
    host = str(comm.peer_address).split("://")[-1].rsplit(":", 1)[0]
    SAID[f"{direction} {host}"] += 1
    for operation in message if isinstance(message, (list, tuple)) else [message]:
        if isinstance(operation, dict):
            SAID[f"{direction}: {operation.get('op', 'answer')}"] += 1


def dask_setup(scheduler: Any) -> None:
    """Begin to count."""
    write, read = TCP.write, TCP.read

    async def counted_write(comm: Any, msg: Any, *arguments: Any, **options: Any) -> Any:
        _count("to", comm, msg)
        return await write(comm, msg, *arguments, **options)

    async def counted_read(comm: Any, *arguments: Any, **options: Any) -> Any:
        msg = await read(comm, *arguments, **options)
        _count("from", comm, msg)
        return msg

    TCP.write, TCP.read = counted_write, counted_read


def dask_teardown(scheduler: Any) -> None:
    """Write what was counted."""
    with open("chatter.json", "w") as file:
        json.dump(SAID, file, indent=1)
