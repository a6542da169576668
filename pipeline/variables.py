"""Variables of the environment: how those of settings are called, and what is read beside them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

PREFIX = "BICLIQ__"
"""How the variables of settings begin."""

VARIABLES_OF_TESTS = {
    "BICLIQ_CORRUPTIONS": "How often the tests damage a store.",
    "BICLIQ_DATA": "Folder of the larger graphs of tests and benchmarks.",
    "BICLIQ_FAULTS": "How many faults the tests let happen to commands at work.",
    "BICLIQ_FAULTS_SEED": "Which ones.",
    "BICLIQ_FUZZ": "How many arguments, ill-formed or not, the tests give each kernel.",
    "BICLIQ_LARGE_TABLE": "Not empty: tests take a hundred million edges all the way with 2 GiB.",
    "BICLIQ_LOAD": "How many runs, and how many versions, the tests make one after the other.",
    "BICLIQ_NIGHTLY": "Whether the tests try all of what `make nightly` tries.",
    "BICLIQ_TEST_TIMES": "How often the tests run each bad input.",
}
OTHER_VARIABLES = {
    **VARIABLES_OF_TESTS,
    "BICLIQ_GPU_MEMORY": "Bytes of a GPU that a search may take.",
    "BICLIQ_HOME": "This repository, for `prefect deploy`.",
    "BICLIQ_LANES": "Instruction set of the kernels: avx512, avx2 or portable.",
    "BICLIQ_NOTEBOOK_STORE": "Store of the notebooks.",
    "BICLIQ_TRACEBACK": "Not empty: an error of the command line shows its traceback.",
}
"""Variables that are no settings; any other that begins with ``BICLIQ_`` is refused."""


def variable_of(path: Iterable[object]) -> str:
    """Name of the variable that holds a setting.

    Examples
    --------
    >>> variable_of(("search", "min_left"))
    'BICLIQ__SEARCH__MIN_LEFT'
    """
    return PREFIX + "__".join(map(str, path)).upper()


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question that names what was likely meant, or nothing.

    Examples
    --------
    >>> did_you_mean("treads", ["threads", "side"])
    ' (did you mean threads?)'
    """
    near = difflib.get_close_matches(name, sorted(known), 1)
    return f" (did you mean {near[0]}?)" if near else ""
