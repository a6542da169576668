"""What every set of libraries must do: the ten lines, a cluster, a flow."""

import subprocess
import tempfile
from pathlib import Path

TABLE = str(Path(__file__).parents[1] / "tests/data/southern-women.parquet")
DIGEST = "9d4c16360f96594d"


def ten_lines(folder: str) -> None:
    """README's lines, with a store on the disk."""
    import bicliq

    shop = {"ann": ["jam", "tea"], "bob": ["jam", "tea"], "cid": ["jam", "tea", "wine"]}
    groups = bicliq.enumerate(shop, min_left=2)
    assert len(groups.top(5).to_pandas()) == 1
    assert len(groups.where(with_left=["cid"]).to_polars()) == 1
    assert len(groups.to_networkx()) == 6
    assert bicliq.count(shop, 2, 2) == 3
    assert bicliq.clique(shop, project="left", min_shared=2).size == 3
    big = bicliq.enumerate(TABLE, left="u", right="v", store=f"{folder}/groups")
    for name in ("groups.csv", "groups.parquet", "groups.duckdb"):
        big.export(f"{folder}/{name}")


def command(folder: str, *words: str) -> None:
    """A command of the environment that this runs in."""
    import json
    import sys

    line = [
        str(Path(sys.executable).parent / "bicliq"),
        "run",
        TABLE,
        "--store",
        f"{folder}/{words[0]}",
        *words,
        "--json",
    ]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if "--prefect" not in words:
        assert json.loads(done.stdout)["digest"] == DIGEST


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        ten_lines(folder)
        command(folder, "--workers", "2")
        command(folder, "--prefect")
        command(folder, "--local")
        line = ["estimate", TABLE, "--picture", f"{folder}/picture.svg"]
        from bicliq.flows.cli import invoke

        assert invoke(line) == 0
    print("all of it works")
