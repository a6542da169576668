"""A CSV file read letter by letter, and what ingest must make of it: slow, and in plain Python."""

from __future__ import annotations

import re


def rows_of(text: str, delimiter: str = ",") -> list[list[tuple[str, bool]]]:
    """Rows of fields, each with whether it was in quotes; blank lines are left out."""
    rows: list[list[tuple[str, bool]]] = []
    row: list[tuple[str, bool]] = []
    field, quoted, inside, at = "", False, False, 0
    while at <= len(text):
        letter = text[at] if at < len(text) else "\n"
        if inside and at < len(text):
            if letter == '"' and text[at + 1 : at + 2] == '"':
                field += '"'
                at += 1
            elif letter == '"':
                inside = False
            else:
                field += letter
        elif letter == '"' and field == "" and not quoted:
            inside = quoted = True
        elif letter == delimiter or letter == "\n":
            row.append((field.removesuffix("\r") if letter == "\n" and not quoted else field, quoted))
            field, quoted = "", False
            if letter == "\n":
                if row != [("", False)]:
                    rows.append(row)
                row = []
        elif not (quoted and letter == "\r"):
            field += letter
        at += 1
    return rows


def expected(rows: list[list[tuple[str, bool]]], columns: int, nulls: set[str], ids: str = "auto") -> dict:
    """Edges and counts of rows whose first two columns are left and right; what is wrong is dropped
    and counted."""
    whole = [row for row in rows if len(row) == columns]
    values = [[label_of(*field, nulls) for field in row[:2]] for row in whole]
    kept = [tuple(pair) for pair in values if None not in pair]
    present = [[pair[side] for pair in values if pair[side] is not None] for side in (0, 1)]
    numeric = [ids == "auto" and all(map(is_plain_number, labels)) for labels in present]
    edges = {tuple(int(label) if numeric[side] else label for side, label in enumerate(pair)) for pair in kept}
    return {
        "edges": edges,
        "rows_read": len(rows),
        "dropped_ragged": len(rows) - len(whole),
        "dropped_nulls": len(whole) - len(kept),
        "duplicates": len(kept) - len(edges),
    }


def label_of(field: str, quoted: bool, nulls: set[str]) -> str | None:
    """What a field says without blanks around it; None: it is empty, or a bare word for nothing."""
    label = field.strip()
    return None if label == "" or (label in nulls and not (quoted and label == field)) else label


def is_plain_number(label: str) -> bool:
    """Whether a label is a number that is written in the one plain way and fits 64 bits."""
    return re.fullmatch("0|-?[1-9][0-9]*", label) is not None and -(2**63) <= int(label) < 2**63
