"""The settings file, as TOML says it."""

from __future__ import annotations

import os
import stat
import tomllib
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from pydantic_settings import TomlConfigSettingsSource

SETTINGS_FILE = "bicliq.toml"


class SettingsFile(TomlConfigSettingsSource):
    """The settings of the file."""

    def __call__(self) -> dict[str, Any]:
        """Return them; what is called so and is no file is not passed over."""
        if os.path.lexists(SETTINGS_FILE) and not stat.S_ISREG(os.stat(SETTINGS_FILE).st_mode):
            raise OSError(f"{SETTINGS_FILE} is no file")
        return super().__call__()

    def _read_file(self, file_path: Path | Traversable) -> dict[str, Any]:
        return read_settings_file(file_path)


def read_settings_file(path: Path | Traversable) -> dict[str, Any]:
    """Read a settings file; on Windows it may begin with a mark of byte order.

    Raises tomllib.TOMLDecodeError or UnicodeDecodeError where it is no TOML.
    """
    return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
