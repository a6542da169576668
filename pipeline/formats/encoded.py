"""Text in other encodings than UTF-8: read as UTF-8 where its name is given, else named."""

from __future__ import annotations

import codecs
import io
from typing import IO

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.files import input_errors, open_bytes
from bicliq.pipeline.words import shown

CHUNK = 1 << 20
"""Bytes that are decoded at a time."""

LIKELY = ("cp1252", "latin-1")
"""What text that is no UTF-8 is nearly always written in; latin-1 has a letter for every byte."""

BOMS = {
    codecs.BOM_UTF32_LE: "utf-32",  # begins like that of UTF-16, and comes first
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

UTF8 = ("utf-8", "utf-8-sig")


def open_text(source: str, encoding: str | None = None) -> IO[bytes]:
    """Open a text file for reading as UTF-8, decompressed by the name's extension.

    `source`: path or fsspec URL. `encoding`: what it is written in; None: UTF-8, and its bytes are
    given as they are. Raises InputError where it cannot be opened; at a read, where bytes are none
    of that encoding.
    """
    file = open_bytes(source)
    if encoding is None or codecs.lookup(encoding).name in UTF8:
        return file
    return io.BufferedReader(_AsUtf8(file, source, encoding), CHUNK)


class _AsUtf8(io.RawIOBase):
    """A file decoded and encoded again as it is read."""

    def __init__(self, file: IO[bytes], source: str, encoding: str) -> None:
        self._file, self._source, self._encoding = file, source, encoding
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._line = 1
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        room = memoryview(buffer)  # type: ignore[arg-type]
        while not self._rest:
            with input_errors(self._source):
                chunk = self._file.read(CHUNK)
            self._rest = self._decoded(chunk)
            if not chunk:
                break
        n = min(len(room), len(self._rest))
        room[:n] = self._rest[:n]
        self._rest = self._rest[n:]
        return n

    def _decoded(self, chunk: bytes) -> bytes:
        try:
            text = self._decoder.decode(chunk, final=not chunk)
        except UnicodeError as error:
            line, what, why = self._line, "this", str(error)  # of text without its byte order mark
            if isinstance(error, UnicodeDecodeError):
                line += str(error.object[: error.start], self._encoding, "replace").count("\n")
                what, why = shown(error.object[error.start : error.end]), error.reason
            wide = f"; it is likely encoding = {likely_encoding(chunk)!r}" if b"\0" in chunk else ""
            raise InputError(
                f"{self._source}, line {line}: {what} is no {self._encoding} text ({why}); name the encoding that the"
                f" file has, or leave it out for UTF-8{wide}"
            ) from None
        self._line += text.count("\n")
        return text.encode("utf-8", "surrogatepass")

    def close(self) -> None:
        self._file.close()
        super().close()


def likely_encoding(data: bytes) -> str:
    r"""The encoding that some bytes that are no UTF-8 are likely in.

    Examples
    --------
    >>> likely_encoding(b"Jos\xe9"), likely_encoding(b"\xff\xfea\x00"), likely_encoding(b"a\x00,\x00b\x00\n\x00")
    ('cp1252', 'utf-16', 'utf-16-le')
    """
    for bom, name in BOMS.items():
        if data.startswith(bom):
            return name
    if b"\0\0" in data:  # two of the four bytes of every letter, and more
        return "utf-32-le" if data[3::4].count(0) >= data[::4].count(0) else "utf-32-be"
    if b"\0" in data:
        return "utf-16-le" if data[1::2].count(0) >= data[::2].count(0) else "utf-16-be"
    for name in LIKELY:
        try:
            data.decode(name)
        except UnicodeDecodeError:
            continue
        return name
    raise AssertionError("latin-1 decodes all bytes")


def encoding_advice(data: bytes) -> str:
    r"""What to do about bytes that are no UTF-8: the likely encoding, and what they say in it.

    Examples
    --------
    >>> encoding_advice(b"Jos\xe9")
    "encoding = 'cp1252' reads it as 'José'; where that is wrong, name another encoding"
    """
    name = likely_encoding(data)
    text = data.decode(name, "replace")
    if "\ufffd" in text or not "".join(text.split()).isprintable():
        return "name its encoding"
    return f"encoding = {name!r} reads it as {shown(text)}; where that is wrong, name another encoding"
