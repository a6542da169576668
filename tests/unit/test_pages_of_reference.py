"""The pages that are made of the code are those that lie in docs/, and say all that there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from bicliq.flows.cli.reference import PAGES, commands_page, main, settings_page
from bicliq.pipeline.settings import fields_of

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_the_code_makes_today(name, tmp_path):
    main(str(tmp_path))
    made = (tmp_path / name).read_text(encoding="utf-8")
    assert made == (REFERENCE / name).read_text(encoding="utf-8"), "run `make docs`"


def test_every_setting_and_command_is_there():
    settings = settings_page()
    assert all(f"| `{path[-1]}` | " in settings for path, _ in fields_of())
    page = commands_page()
    assert all(f"\n## bicliq {name}\n" in page for name in ("run", "show", "export", "report"))
    assert "Settings: *ingest*, *search*" in page
    assert "`bicliq export FILE`" in page
    assert "`bicliq show [RUN]`" in page
    assert "bicliq top" not in page, "an alias"
