"""The settings file, as TOML says it."""

from __future__ import annotations

import tomllib
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from pydantic_settings import TomlConfigSettingsSource

SETTINGS_FILE = "bicliq.toml"


class SettingsFile(TomlConfigSettingsSource):
    """The settings of the file."""

    def _read_file(self, file_path: Path | Traversable) -> dict[str, Any]:
        return read_settings_file(file_path)


def read_settings_file(path: Path | Traversable) -> dict[str, Any]:
    """Read a settings file; on Windows it may begin with a mark of byte order.

    Raises
    ------
    tomllib.TOMLDecodeError, UnicodeDecodeError
        Where it is no TOML.
    """
    return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
