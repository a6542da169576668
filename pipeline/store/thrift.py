"""Structs of Thrift's compact protocol, in which the footer of a Parquet file is written.

A footer is a tree that can be read without knowing what its fields mean, changed, and written
again.

References
----------
Apache Thrift, "Compact protocol encoding".
"""

from __future__ import annotations

from typing import Any

# Thrift's types in the compact protocol
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

SMALL = [bytes([value]) for value in range(0x80)]
"""Numbers that take a byte: most of a footer."""

Struct = dict[int, tuple[int, Any]]
"""Type and value of each field, by number; a list is the type of its elements and these."""


def decode_struct(data: bytes, at: int) -> tuple[Struct, int]:
    """Read a struct; returns it and the place behind it.

    Examples
    --------
    >>> decode_struct(encode_struct({1: (I32, -5), 20: (BINARY, b"ab")}), 0)
    ({1: (5, -5), 20: (8, b'ab')}, 8)
    """
    struct: Struct = {}
    field = 0
    while head := data[at]:
        at += 1
        if head >> 4:
            field += head >> 4
        else:
            field, at = _decode_zigzag(data, at)
        kind = head & 15
        if kind in (TRUE, FALSE):
            struct[field] = (TRUE, kind == TRUE)
        else:
            value, at = _decode(data, at, kind)
            struct[field] = (kind, value)
    return struct, at + 1


def encode_struct(struct: Struct) -> bytes:
    """Write a struct, as `decode_struct` reads it; one in it may be given as it was written."""
    out = bytearray()
    last = 0
    for field, (kind, value) in sorted(struct.items()):
        head = FALSE if kind == TRUE and not value else kind
        step = field - last
        out += bytes([step << 4 | head]) if 0 < step < 16 else bytes([head]) + _encode_zigzag(field)
        out += b"" if kind == TRUE else _encode(kind, value)
        last = field
    return bytes(out) + b"\0"


def _decode(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (I16, I32, I64):
        return _decode_zigzag(data, at)
    if kind == BINARY:
        length, at = _decode_varint(data, at)
        return data[at : at + length], at + length
    if kind == STRUCT:
        return decode_struct(data, at)
    if kind in (LIST, SET):
        return _decode_list(data, at)
    if kind in (TRUE, FALSE, BYTE):  # a Boolean among others is a byte
        return data[at : at + 1], at + 1
    if kind == DOUBLE:
        return data[at : at + 8], at + 8
    raise ValueError(f"type {kind} of Thrift's compact protocol is in no Parquet footer")


def _decode_list(data: bytes, at: int) -> tuple[tuple[int, list[Any]], int]:
    length, kind = data[at] >> 4, data[at] & 15
    at += 1
    if length == 15:
        length, at = _decode_varint(data, at)
    items = []
    for _ in range(length):
        item, at = _decode(data, at, kind)
        items.append(item)
    return (kind, items), at


def _encode(kind: int, value: Any) -> bytes:
    if kind in (I16, I32, I64):
        return _encode_zigzag(value)
    if kind == BINARY:
        return _encode_varint(len(value)) + bytes(value)
    if kind == STRUCT:
        return value if isinstance(value, bytes) else encode_struct(value)
    if kind in (LIST, SET):
        of, items = value
        head = bytes([len(items) << 4 | of]) if len(items) < 15 else bytes([0xF0 | of]) + _encode_varint(len(items))
        return head + b"".join(_encode(of, item) for item in items)
    return bytes(value)


def _decode_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while data[at] & 0x80:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
    return value | data[at] << shift, at + 1


def _encode_varint(value: int) -> bytes:
    if value <= 0x7F:
        return SMALL[value]
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _decode_zigzag(data: bytes, at: int) -> tuple[int, int]:
    value, at = _decode_varint(data, at)
    return value >> 1 ^ -(value & 1), at


def _encode_zigzag(value: int) -> bytes:
    return _encode_varint(value << 1 if value >= 0 else (-value << 1) - 1)
