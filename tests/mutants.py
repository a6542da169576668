"""Forty faults made by hand, one at a time: the tests of each must fail.

``make mutants`` (``python -m tests.mutants``, and a part of ``make nightly``) works on a copy, so
that nothing stays where it is ended; words after it choose the mutants whose file has one of them,
as in ``python -m tests.mutants versions/ .hpp``. Those of C++ come last: the kernels are compiled
anew for each, for any processor.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("kernels", "pipeline", "flows", "bicliq")
NOT_COMPILED = "it does not compile"
SECONDS = 900
"""A mutant whose tests last longer than this is taken for one that hangs, and so for caught."""

APART = """
import sys
sys.meta_path[:] = [one for one in sys.meta_path if type(one).__name__ != "ScikitBuildRedirectingFinder"]
"""
"""`sitecustomize` of the copy: the editable installation leads every import to the checkout."""


@dataclass(frozen=True)
class Mutant:
    """A line of a file with a fault, and the test files that are to see it."""

    file: str
    line: str
    fault: str
    tests: str


# fmt: off
MUTANTS = [
    Mutant("kernels/rows.py", "if (np.diff(keys) <= 0).any():", "if (np.diff(keys) < 0).any():", "property/test_ill_formed_arrays.py unit/test_rows.py property/test_extended_graphs.py"),
    Mutant("kernels/rows.py", "if columns.size and columns.max() >= n_columns:", "if columns.size and columns.max() > n_columns:", "property/test_ill_formed_arrays.py unit/test_rows.py"),
    Mutant("kernels/changes.py", "self._met > self._most:", "self._met >= self._most:", "property/test_changes.py"),
    Mutant("kernels/surprise.py", "_costs(int(np.count_nonzero(side)), len(side))", "_costs(len(side), len(side))", "property/test_finding.py"),
    Mutant("kernels/surprise.py", "<= CLOSE_ENOUGH * a)[a > 0].all():", "<= 0.5 * a)[a > 0].all():", "property/test_finding.py"),
    Mutant("kernels/covers.py", "(best.fallen and best.value <= floor)", "False", "property/test_covering.py"),
    Mutant("kernels/clique.py", "if fault != extension.UNDIRECTED:", "if False:", "unit/test_clique.py property/test_cliques.py property/test_ill_formed_arrays.py"),
    Mutant("kernels/host_count.py", "times * comb(n, k) * comb(m, j) for", "times * comb(n, k) for", "property/test_large_counts.py property/test_counting.py"),
    Mutant("kernels/host_count.py", "if count >= 1 << 128:", "if count >= 1 << 200:", "property/test_large_counts.py property/test_counting.py"),
    Mutant("kernels/estimate.py", "].cumsum(2).cumsum(3)[", "].cumsum(2)[", "property/test_estimate.py"),
    Mutant("pipeline/graphs/bipartite.py", "ids.max() >= size):", "ids.max() > size):", "unit/test_graph.py"),
    Mutant("pipeline/stages/window.py", "self.time >= begin_of(latest, window)", "self.time > begin_of(latest, window)", "integration/test_window.py property/test_watching.py"),
    Mutant("pipeline/stages/window.py", "[column >= begin_of(latest, window)", "[column > begin_of(latest, window)", "integration/test_window.py property/test_watching.py"),
    Mutant("pipeline/stages/uniting.py", "united = weights[starts]", "united = weights[starts - 1]", "integration/test_ingest.py property/test_watching.py"),
    Mutant("pipeline/stages/publish.py", "and bicliques >= max_bicliques:", "and bicliques > max_bicliques:", "integration/test_limits.py integration/test_pipeline.py"),
    Mutant("pipeline/stages/verify_rows.py", "if sorted(set(left)) != left or sorted(set(right)) != right:", "if sorted(set(left)) != left and sorted(set(right)) != right:", "integration/test_verify_deep.py"),
    Mutant("pipeline/stages/verify_rows.py", "max(left) >= by_left.n_left or", "max(left) > by_left.n_left or", "integration/test_verify_deep.py"),
    Mutant("pipeline/stages/checks.py", "return new / max(total, 1)", "return 2 * new / max(total, 1)", "integration/test_checks.py"),
    Mutant("pipeline/store/log.py", 'return max(entry.created, now or "")', 'return min(entry.created, now or "")', "integration/test_publications.py integration/test_stale.py"),
    Mutant("pipeline/store/log.py", "if follows is not None and latest not in (follows, folder.run)", "if follows is None and latest not in (follows, folder.run)", "faults/test_two_at_once.py"),
    Mutant("pipeline/store/record.py", '{"", ".", ".."} & set(name.split("/"))', '{"", "."} & set(name.split("/"))', "integration/test_security.py"),
    Mutant("pipeline/store/folder.py", "if data is None or len(data) != file.bytes:", "if data is None:", "unit/test_store.py"),
    Mutant("pipeline/store/choice.py", "end < least or begin > most", "end <= least or begin > most", "integration/test_results.py"),
    Mutant("pipeline/versions/prune.py", "kept |= dict.fromkeys(some[-keep_last:]", "kept |= dict.fromkeys(some[1 - keep_last:]", "integration/test_compact.py"),
    Mutant("pipeline/versions/prune.py", '(self._age(run)[0]) <= older_than)', '(self._age(run)[0]) >= older_than)', "integration/test_compact.py"),
    Mutant("pipeline/versions/layer.py", "if best is not None and best.rank >= bound.rank:", "if best is not None:", "property/test_versions.py integration/test_update.py integration/test_compact.py"),
    Mutant("pipeline/versions/layer.py", "counts.subtract(dict(vanished))", "counts.update(dict(vanished))", "integration/test_update.py"),
    Mutant("pipeline/versions/arrivals.py", "if file in known and file.bytes > 0]", "if file in known]", "integration/test_watch.py"),
    Mutant("pipeline/versions/sources.py", "_last_change(file.uri) != file.modified:", "_last_change(file.uri) == '':", "integration/test_update.py integration/test_nothing_partial.py integration/test_watch.py"),
    Mutant("pipeline/formats/numbered.py", "if declared not in (len(edges), 2 * len(edges)):", "if declared > 2 * len(edges):", "unit/test_formats.py integration/test_clique.py"),
    Mutant("pipeline/formats/matrix.py", "not rows or len(first) == len(rows[0]) - 1 or any", "not rows or len(first) == len(rows[0]) or any", "integration/test_tables_of_all_kinds.py property/test_doors.py property/test_dirty_tables.py"),
    Mutant("pipeline/notify.py", "if found.groups < least_groups(asked):", "if found.groups <= least_groups(asked):", "integration/test_notify.py"),
    Mutant("kernels/src/counting/pivot.hpp", "if (n + 1 < sizes_.least[0]) {", "if (n < sizes_.least[0]) {", "property/test_counting.py"),
    Mutant("kernels/src/best/best_list.hpp", "if (edges() != other.edges()) return edges() > other.edges();", "", "property/test_finding.py"),
    Mutant("kernels/src/best/size_bounds.hpp", "best[d] = std::max(best[d], best[d + 1]);", "best[d] = std::min(best[d], best[d + 1]);", "property/test_finding.py"),
    Mutant("kernels/src/clique/local_rows.hpp", "if (degree[i] + 2 >= wanted)", "if (degree[i] + 1 >= wanted)", "property/test_cliques.py property/test_clique_by_cores.py"),
    Mutant("kernels/src/rules/walk.hpp", "left_out < set_.size() && set_.size() > 1;", "left_out < set_.size() && set_.size() > 3;", "property/test_itemsets.py"),
    Mutant("kernels/src/estimate/open_node.hpp", "if (w == v || counts_[w] < needed_) continue;", "if (w == v || counts_[w] <= needed_) continue;", "property/test_estimate.py"),
    Mutant("kernels/src/graphs/projection.hpp", "if (shared[v] >= min_shared_)", "if (shared[v] > min_shared_)", "property/test_projection.py"),
    Mutant("kernels/src/output/list_column.hpp", "if (most >= n_labels)", "if (most > n_labels)", "unit/test_biclique_file.py property/test_ill_formed_arrays.py"),
]
# fmt: on


class Copy:
    """The code in a folder of its own, where tests find it instead of the checkout's."""

    def __init__(self, folder: Path) -> None:
        self.source, self.built = folder / "source", folder / "built"
        self.built.mkdir()
        for name in FOLDERS:
            shutil.copytree(ROOT / name, self.source / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "LICENSE", "docs", "tests", "benchmarks"):
            (self.source / name).symlink_to(ROOT / name)
        (self.built / "bicliq").symlink_to(ROOT / "bicliq")
        for name in ("kernels", "pipeline", "flows"):
            (self.source / "bicliq" / name).symlink_to(self.source / name)
        for name in ("kernels", "pipeline", "flows", "tests", "pyproject.toml", "README.md", "LICENSE"):
            (self.built / name).symlink_to(self.source / name)
        self._place_extensions()
        (folder / "sitecustomize.py").write_text(APART)
        self.environment = {**os.environ, "PYTHONPATH": f"{folder}:{self.source}", "PYTHONDONTWRITEBYTECODE": "1"}

    def _place_extensions(self) -> None:
        from bicliq.kernels.cpu import load_extension

        for path in Path(load_extension().__file__).parent.glob("_*.so"):
            shutil.copy(path, self.source / "kernels" / path.name)

    def compile(self) -> str:
        """Compile the kernels as they are in the copy; what the compiler says against it."""
        settings = {"build-dir": "build", "cmake.define.BICLIQ_LANES": "portable", "cmake.define.BICLIQ_TESTS": "ON"}
        program = f"from scikit_build_core import build; build.build_wheel('wheel', {settings})"
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        shutil.rmtree(self.built / "wheel", ignore_errors=True)
        for old in (self.source / "kernels").glob("_*.so"):  # or the wheel would hold them, too
            old.unlink()
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=self.built,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            return done.stdout[-2000:] + done.stderr[-2000:]
        (wheel,) = (self.built / "wheel").glob("*.whl")
        with zipfile.ZipFile(wheel) as packed:
            for name in packed.namelist():
                if name.endswith(".so"):
                    (self.source / "kernels" / Path(name).name).write_bytes(packed.read(name))
        return ""

    def fails(self, tests: str) -> str:
        """The first test that fails, or what ended the tests; empty where all pass."""
        paths = [f"tests/{name}" for name in tests.split()]
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *paths]
        try:
            done = subprocess.run(
                command,
                cwd=self.source,
                env=self.environment,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"no end after {SECONDS} s"
        if done.returncode == 0:
            return ""
        failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        return failed[-1][:150] if failed else f"exit code {done.returncode}: {(done.stdout + done.stderr)[-300:]}"


def tried(copy: Copy, mutant: Mutant) -> str:
    """What fails with a fault that is made for so long."""
    path = copy.source / mutant.file
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(mutant.line, mutant.fault), encoding="utf-8")
    compiled = mutant.file.startswith("kernels/src/")
    try:
        wrong = copy.compile() if compiled else ""
        return f"{NOT_COMPILED}: {wrong}" if wrong else copy.fails(mutant.tests)
    finally:
        path.write_text(text, encoding="utf-8")


def main(words: list[str]) -> int:
    """Try the mutants whose file has one of the words, or all; return how many no test saw."""
    chosen = [mutant for mutant in MUTANTS if not words or any(word in mutant.file for word in words)]
    escaped = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Copy(Path(folder))
        assert not copy.fails("unit/test_rows.py"), "the copy itself does not work"
        for mutant in chosen:
            started = time.monotonic()
            seen = tried(copy, mutant)
            how = "ESCAPED" if not seen else "FAILED " if seen.startswith(NOT_COMPILED) else "caught "
            escaped += how != "caught "
            took = time.monotonic() - started
            print(f"{how} {took:4.0f} s {mutant.file}: {mutant.fault} | {seen}", flush=True)
    print(f"{len(chosen) - escaped} of {len(chosen)} mutants are caught")
    return escaped


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
