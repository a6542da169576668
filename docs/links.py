"""What `mkdocs` calls for each page: links to files outside of docs/ become their names.

On a page of the repository these links lead to the files; on the site there are none.
"""

from __future__ import annotations

import posixpath
import re
from typing import Any

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!\w+://|#)([^)\s]+)\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Replace links that lead out of docs/ by the names of the files."""
    folder = posixpath.dirname(page.file.src_uri)

    def inside(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("docs", folder, link[2].partition("#")[0]))
        if target.startswith("docs/"):
            return link[0]
        return f"`{target}`" if link[1].strip("`") == target else f"{link[1]} (`{target}`)"

    return LINK.sub(inside, markdown)
