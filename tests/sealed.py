"""Records of a store as somebody who means harm writes them: any content, and a seal that fits."""

from __future__ import annotations

import json
from typing import Any

from bicliq.pipeline.store.folder import Folder
from bicliq.pipeline.store.record import sealed, unsealed


def reseal(folder: Folder, name: str, **entries: Any) -> None:
    """Change entries of a record, and seal it again."""
    place = f"{folder.place}/{name}".lstrip("/")
    data = folder.read_bytes(name)
    assert data is not None
    kind, content = unsealed(place, data)
    folder.write_bytes(name, sealed(place, kind, {**json.loads(content), **entries}))
