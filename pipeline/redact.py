"""What is not shown as it is: secrets in URLs, and characters that a terminal obeys."""

from __future__ import annotations

import re

PASSWORD = re.compile(r"(?P<scheme>[A-Za-z][\w+.-]*://)(?:[^/\s'\"]+|/[^/\s@:'\"]+:[^/\s'\"]*)@")
"""Of a host; fsspec may put a slash before it, as before a path, in which a lone @ is none."""

OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Control characters, among them those that begin escape sequences, and marks that turn the order
of text around."""

SIGNATURE = re.compile(
    r"(?P<name>[?&][\w.-]*(?:signature|sig|token|key|keyid|secret|password|credential|passwd|pwd|auth)=)[^&\s'\"#;]+(?<![,.:)])",
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
    >>> without_secrets("https://host/e.csv?token=f00, line 3")
    'https://host/e.csv?token=***, line 3'
    >>> without_secrets("ann@example.com in edges.csv, line 3")
    'ann@example.com in edges.csv, line 3'
    """
    if "://" not in text:
        return text
    return SIGNATURE.sub(rf"\g<name>{HIDDEN}", PASSWORD.sub(rf"\g<scheme>{HIDDEN}@", text))


def printable(text: str, keep: str = "") -> str:
    r"""Return a text with the characters that a terminal obeys written as escapes, but for some.

    Examples
    --------
    >>> print(printable("\x1b[2Jann\n"), printable("ann\njam\x9b", keep="\n").splitlines())
    \x1b[2Jann\n ['ann', 'jam\\x9b']
    """
    return OBEYED.sub(lambda at: at[0] if at[0] in keep else at[0].encode("unicode_escape").decode("ascii"), text)
