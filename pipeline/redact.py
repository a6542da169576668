"""Secrets in URLs: passwords and signatures are for the server alone, and are shown to nobody."""

from __future__ import annotations

import re

PASSWORD = re.compile(r"(?P<scheme>[A-Za-z][\w+.-]*://)(?:[^/\s@'\"]+|/[^/\s@:'\"]+:[^/\s@'\"]*)@")
"""Of a host; fsspec may put a slash before it, as before a path, in which a lone @ is none."""

SIGNATURE = re.compile(
    r"(?P<name>[?&][\w.-]*(?:signature|sig|token|key|keyid|secret|password|credential|passwd|pwd|auth)=)[^&\s'\"#;]+",
    re.IGNORECASE,
)
HIDDEN = "***"


def without_secrets(text: str) -> str:
    """Return a text with the users, passwords, keys and signatures of its URLs hidden.

    Examples
    --------
    >>> without_secrets("https://ann:pass@host/edges.csv: no such file")
    'https://***@host/edges.csv: no such file'
    >>> without_secrets("https://host/edges.csv?part=3&X-Amz-Signature=f00&sig=1")
    'https://host/edges.csv?part=3&X-Amz-Signature=***&sig=***'
    >>> without_secrets("ann@example.com in edges.csv, line 3")
    'ann@example.com in edges.csv, line 3'
    """
    if "://" not in text:
        return text
    return SIGNATURE.sub(rf"\g<name>{HIDDEN}", PASSWORD.sub(rf"\g<scheme>{HIDDEN}@", text))
