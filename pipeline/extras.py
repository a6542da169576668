"""What the core does without: the extras of the package, and the one sentence that names them.

Libraries of an extra are imported where they are used, inside `needs`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bicliq.pipeline.errors import InputError, StorageError
from bicliq.pipeline.redact import without_secrets


@dataclass(frozen=True)
class Extra:
    """Libraries that are installed by one name.

    `modules`: what is imported of them. `use`: what needs them, in words.
    """

    modules: tuple[str, ...]
    use: str


RAPIDS = ("cupy", "cudf", "cugraph", "rmm", "dask_cuda")
EXTRAS = {
    "cluster": Extra(
        ("dask", "distributed", "bokeh", "prometheus_client"),
        "work shared by processes or hosts: --workers, --scheduler",
    ),
    "flows": Extra(("prefect", "prefect_dask"), "Prefect flows and schedules: run --prefect, serve"),
    "gpu": Extra(RAPIDS, "NVIDIA GPUs with CUDA 13: --backend cuda, --data-backend cuda"),
    "gpu-cu12": Extra(RAPIDS, "NVIDIA GPUs with CUDA 12: --backend cuda, --data-backend cuda"),
    "plots": Extra(("matplotlib",), "pictures: estimate --picture"),
    "frames": Extra(
        ("pandas", "polars", "duckdb", "scipy", "networkx"),
        "to_pandas, to_polars, to_networkx, and what is exported as .duckdb",
    ),
    "s3": Extra(("s3fs",), "tables and stores at s3://"),
    "gcs": Extra(("gcsfs",), "tables and stores at gs://"),
    "azure": Extra(("adlfs",), "tables and stores at az:// and abfs://"),
    "delta": Extra(("deltalake",), "what is exported as .delta"),
    "excel": Extra(("openpyxl",), "tables and exports in .xlsx"),
    "openlineage": Extra(("openlineage",), "lineage that is told to a catalogue: --lineage"),
}
"""Extras by name, as in pyproject.toml, where their versions are."""


PROTOCOLS = {"s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs", "az": "azure", "abfs": "azure", "abfss": "azure"}
"""Extras by how a URL begins."""


@contextmanager
def needs(extra: str, what: str) -> Iterator[None]:
    """Import libraries of an extra; where they are not installed, say how to get them.

    `extra`: its name, in `EXTRAS`. `what`: what needs them: the message begins with it. Raises
    InputError where an import in the block finds no module.

    Examples
    --------
    >>> with needs("plots", "a picture"):
    ...     import matplotlab
    Traceback (most recent call last):
    ...
    bicliq.pipeline.errors.InputError: a picture needs matplotlab, which is not installed: pip install 'bicliq[plots]'
    """
    try:
        yield
    except ImportError as error:
        cause = error if isinstance(error, ModuleNotFoundError) else error.__cause__  # fsspec says it in its own words
        if not isinstance(cause, ModuleNotFoundError):
            raise
        name = str(cause.name).split(".")[0]
        raise InputError(f"{what} needs {name}, which is not installed: {install(extra)}") from error


def file_system(url: str, **options: Any) -> tuple[Any, str]:
    """Return the file system and the path that a path or an fsspec URL stands for.

    Raises InputError where the library for such URLs is not installed, or there is none; where it
    is no text.

    Examples
    --------
    >>> file_system("memory://shop.csv")[1]
    '/shop.csv'
    """
    import fsspec

    refuse_bytes(url)
    shown = without_secrets(url)
    with needs(PROTOCOLS.get(url.split("://")[0], "all"), shown):
        try:
            system, path = fsspec.core.url_to_fs(url, **options)
        except ValueError as error:
            raise InputError(f"{shown}: this URL cannot be opened: {error}; give a path or an fsspec URL") from error
    if not url or not path:
        raise InputError(f"{url!r} names no file; write its path, or bucket and path")
    return system, str(path)


def is_local(system: Any) -> bool:
    """Whether a file system is that of this machine."""
    return "file" in (system.protocol if isinstance(system.protocol, tuple) else (system.protocol,))


def new_file(url: str, *, overwrite: bool) -> tuple[Any, str]:
    """Return the file system and the path of a file to write; one that is there is refused."""
    system, path = file_system(url)
    if not overwrite and system.exists(path):
        raise InputError(f"{url}: is there already; name another file, or replace it with overwrite = True")
    return system, path


def check_new_file(url: str, *, overwrite: bool) -> None:
    """Refuse a file that is there, or whose folder is not, before the work that it would hold."""
    system, path = new_file(url, overwrite=overwrite)
    if is_local(system) and not Path(path).parent.is_dir():
        raise InputError(f"{url}: its folder is not there; make it, or name a file elsewhere")


@contextmanager
def written(url: str) -> Iterator[None]:
    """Say of a file that cannot be written what to do."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{url}: cannot be written: {error}; check the folder and the space") from error


def refuse_bytes(name: str) -> None:
    """Refuse a name that no record could hold: bytes that are no UTF-8 are lone surrogates."""
    if any("\ud800" <= letter <= "\udfff" for letter in name):
        raise InputError(
            f"{name.encode('utf-8', 'backslashreplace').decode()}: its name holds bytes that are no UTF-8 text; rename"
            " it, or give it a link with another name (ln -s)"
        )


def install(extra: str) -> str:
    """Return the command that installs an extra.

    Examples
    --------
    >>> install("s3")
    "pip install 'bicliq[s3]'"
    """
    return f"pip install 'bicliq[{extra}]'"


def missing(extra: str) -> list[str]:
    """Return the modules of an extra that are not here.

    Examples
    --------
    >>> missing("frames") == [name for name in EXTRAS["frames"].modules if not importlib.util.find_spec(name)]
    True
    """
    return [name for name in EXTRAS[extra].modules if importlib.util.find_spec(name) is None]
