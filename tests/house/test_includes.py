"""Includes of the kernels' sources go down only, between rooms, as imports do."""

from __future__ import annotations

import re
from functools import cache

from tests.house.sources import ROOT, files

SOURCES = ROOT / "kernels" / "src"
ABOVE_SEARCH = {"output", "best", "changes", "counting", "clique", "estimate", "rules", "gaps", "lattice"}

MAY_INCLUDE: dict[str, set[str]] = {
    "lanes": set(),
    "graphs": {"lanes"},
    "search": {"lanes", "graphs"},
    **{room: {"lanes", "graphs", "search"} for room in ABOVE_SEARCH},
    "changes": {"lanes", "graphs", "search", "output"},
    "bindings": {"lanes", "graphs", "search", *ABOVE_SEARCH},
}


@cache
def includes() -> list[tuple[str, str]]:
    """(who includes, what), as paths from `kernels/src`."""
    found = []
    for path in files(".hpp", ".cpp", ".cu"):
        if path.parts[:2] != ("kernels", "src"):
            continue
        own = path.relative_to("kernels/src").as_posix()
        for included in re.findall(r'^#include "([^"]+)"', (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE):
            found.append((own, included if "/" in included else f"{room_of(own)}/{included}"))
    return found


def room_of(path: str) -> str:
    """The room of a source: its folder."""
    return path.split("/")[0]


def test_every_source_is_in_a_room_of_the_table() -> None:
    assert {room_of(own) for own, _ in includes()} == set(MAY_INCLUDE)


def test_what_is_included_is_there() -> None:
    assert len(includes()) > 300
    gone = [pair for pair in includes() if not (SOURCES / pair[1]).is_file()]
    assert not gone, "name a file by its path from kernels/src"


def test_rooms_include_only_what_the_table_allows() -> None:
    wrong = [
        f"{own} includes {included}: {room_of(own)} may include {sorted(MAY_INCLUDE[room_of(own)])} only"
        for own, included in includes()
        if room_of(included) not in {room_of(own), *MAY_INCLUDE[room_of(own)]}
    ]
    assert not wrong, "move what is included to a room below:\n" + "\n".join(wrong)


def test_the_map_names_every_plug() -> None:
    page = (ROOT / "docs" / "kernels.md").read_text(encoding="utf-8")
    plugs = re.findall(r"^\| `(\w+)` \|(.+)$", page, re.MULTILINE)
    assert [plug for plug, _ in plugs] == ["Csr", "Limits", "Node", "Sink", "Team", "Task"]
    named = {name for _, of in plugs for name in re.findall(r"`([\w/]+/\w+\.hpp)`", of)}
    assert len(named) > 6
    assert {name for name in named if not (SOURCES / name).is_file()} == set()


def test_no_headers_include_each_other() -> None:
    seen: set[str] = set()

    def follow(path: str, above: tuple[str, ...]) -> None:
        assert path not in above, f"a circle: {' <- '.join((*above, path))}"
        if path in seen:
            return
        for own, included in includes():
            if own == path:
                follow(included, (*above, path))
        seen.add(path)

    for own, _ in includes():
        follow(own, ())
