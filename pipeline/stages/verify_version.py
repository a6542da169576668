"""Verify a version: its own two files, its sums, and all that a reader of it sees."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from bicliq import kernels
from bicliq.pipeline.errors import BicliqError
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, read_graph
from bicliq.pipeline.stages.extend import extended_plan
from bicliq.pipeline.stages.planned import read_plan
from bicliq.pipeline.stages.verify_roots import RootCheck, graph_to_search
from bicliq.pipeline.stages.verify_rows import RowChecker, RowsRead
from bicliq.pipeline.store.bicliques import MASK
from bicliq.pipeline.store.inventory import Inventory
from bicliq.pipeline.store.labels import read_hashes
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.records import RunRecord
from bicliq.pipeline.store.states import read_run
from bicliq.pipeline.store.versions import APPEARED, VANISHED, Layer, Part, layers_of


class VersionCheck:
    """Checks of a version.

    `store`, `record`: the version's run.json, which is sound. `found`: what is known of the files.
    """

    def __init__(self, store: Store, record: RunRecord, found: Inventory) -> None:
        self._store, self._record, self._found = store, record, found
        self._layer, self._manifest = Layer(store.run(record.run), record), record.version.manifest
        self.rows, self.digest = self._manifest.bicliques, self._manifest.digest
        self.files = self.sampled = self.roots = 0

    def problems(self, sample: int, seed: int, roots: int, *, whole: bool) -> list[str]:
        """Compare the version with its records and its graph.

        `sample`, `seed`: bicliques to check against the graph, and how they are chosen. `roots`:
        roots to search again, where the whole version is read. `whole`: whether to read the files
        of its base and its layers as well, and to leave out what vanished: rows and digest are then
        those that were read.
        """
        try:
            graph = self._store.graph(self._record.graph)
            edges = read_graph(graph)
            checker = RowChecker(edges, self._manifest.side, self._record.search, read_hashes(graph))
            generator = np.random.default_rng(seed)
            wrong = self._own_files(checker, sample, generator) + self._sums()
            if whole and not wrong:
                wrong = self._as_read(checker, sample, seed)
                if roots:
                    wrong += self._searched(edges, checker, roots, seed)
        except BicliqError as error:
            wrong = [f"{self._layer.folder.place}: it is not checked to its end: {error}"]
        return wrong

    def _own_files(self, checker: RowChecker, sample: int, generator: Any) -> list[str]:
        """Compare both files with the record, and what appeared with the graph."""
        wrong = []
        place, layer = self._layer.folder.place, layers_of(self._store, self._record)[-1]
        for kind in (APPEARED, VANISHED):
            commit = self._layer.commit(0, "", kind)
            name = f"{place}/{commit.file}"
            if name not in self._found.files:  # it is damaged, which is known
                continue
            table = layer.table(kind, check=False)
            share = min(sample, table.num_rows) if kind == APPEARED else 0
            read = RowsRead()
            wrong += checker.check_rows(name, table, np.sort(generator.choice(table.num_rows, share, replace=False)))
            read.add(table, name, share, checker.hashes)
            wrong += read.problems
            wrong += checker.compare(name, commit, read.rows, f"{read.digest & MASK:016x}", read.sizes)
            self.files, self.sampled = self.files + 1, self.sampled + share
        return wrong

    def _sums(self) -> list[str]:
        """Compare number and digest with those of the version that the layers below make."""
        before = self._store.run(self._below).manifest()
        if before is None:  # it is damaged, which is known
            return []
        came, went, now = self._record.version.appeared, self._record.version.vanished, self._manifest
        digest = int(before.digest, 16) + int(came.digest, 16) - int(went.digest, 16)
        if (before.bicliques + came.rows - went.rows, f"{digest & MASK:016x}") == (now.bicliques, now.digest):
            return []
        return [f"{self._layer.folder.place}/run.json: its bicliques are not those of {self._below} and what changed"]

    @property
    def _below(self) -> str:
        """The version or base that its own layer stands on."""
        return [self._record.base, *self._record.layers][-2]

    def _as_read(self, checker: RowChecker, sample: int, seed: int) -> list[str]:
        """Read what a reader sees, by all threads, and compare it with manifest and graph."""
        opened, read, threads = read_run(self._layer.folder), RowsRead(), kernels.available_threads()
        names = [f"{part.folder.place}/{part.commit.file}" for part in opened.parts.values()]
        if damaged := [name for name in names if name not in self._found.files]:
            return [f"{self._layer.folder.place}: is not read, since {damaged[0]} is damaged"]
        with ThreadPoolExecutor(threads, "verify") as pool:
            for part in opened.parts.values():
                _ = part.gone  # read once, for all threads
                look = partial(self._look_at, part, checker, sample, seed, of=threads)
                for found in pool.map(look, range(threads)):
                    read.merge(found)
                self.files += 1
        self.sampled += read.sampled
        wrong = list(dict.fromkeys(read.problems))  # once, whatever threads met it
        now, self.rows, self.digest = (self.rows, self.digest), read.rows, f"{read.digest & MASK:016x}"
        if (self.rows, self.digest) != now:
            wrong.append(
                f"{self._layer.folder.place}/run.json: it says {now[0]} bicliques, digest {now[1]}; without what vanished"
                f" {self.rows} are read, digest {self.digest}"
            )
        return wrong

    def _look_at(self, part: Part, checker: RowChecker, sample: int, seed: int, first: int, of: int) -> RowsRead:
        """Check every so many row groups of a data file, from the first on."""
        found, name = RowsRead(), f"{part.folder.place}/{part.commit.file}"
        total = self._manifest.bicliques
        with part.open(check=False) as file:
            for group in range(first, len(file.rows), of):
                table = part.living(file, group)
                share = min(table.num_rows, -(-sample * table.num_rows // max(total, 1)))
                generator = np.random.default_rng([seed, part.commit.partition, group])
                picked = np.sort(generator.choice(table.num_rows, share, replace=False))
                found.problems += checker.check_rows(name, table, picked)
                found.add(table, name, share, checker.hashes)
        return found

    def _searched(self, graph: BipartiteGraph, checker: RowChecker, roots: int, seed: int) -> list[str]:
        """Search a sample of roots again, in the order of the plan of its base."""
        folder, search = self._layer.folder, self._record.search
        core = graph_to_search(graph, search)
        plan = extended_plan(read_plan(self._store.run(self._record.base)), core)
        parts = list(read_run(folder).parts.values())
        check = RootCheck(folder.place, core, plan, search, parts, checker)
        wrong = check.problems(roots, seed)
        self.roots = check.searched
        return wrong
