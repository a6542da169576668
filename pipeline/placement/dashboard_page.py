"""The page itself, in Bokeh: tables and pictures that are made anew every second for who looks."""

from __future__ import annotations

import time
from html import escape
from typing import Any

from bokeh.layouts import column, row
from bokeh.models import (
    ColumnDataSource,
    DataRange1d,
    DatetimeTickFormatter,
    FactorRange,
    NumeralTickFormatter,
    Range1d,
)
from bokeh.models.widgets import Div
from bokeh.palettes import Category10_8
from bokeh.plotting import figure
from bokeh.transform import dodge
from distributed.dashboard.components import add_periodic_callback
from distributed.dashboard.components.scheduler import BOKEH_THEME, env

from bicliq.pipeline.placement.watching import STATES

EVERY = 1000
"""Milliseconds between two looks."""

COLOURS = {"committed": "#2a7f3f", "searching": "#f0a30a", "waiting": "#c8ccd0", "failed": "#b3261e"}

SEARCHES = {
    "run": "run", "asks": "asks for", "state": "state", "partitions": "partitions", "cost": "cost done", "bicliques": "bicliques",
    "rate": "bicliques / s", "took": "took", "left": "left (estimate)",
}  # fmt: skip
WORKERS = {
    "worker": "worker", "host": "host", "partition": "searches", "rate": "bicliques / s", "bicliques": "bicliques",
    "cpu": "CPU", "memory": "memory", "gpu": "GPU", "gpu_memory": "GPU memory",
}  # fmt: skip
"""Columns of the two tables, with their heads."""


def show_searches(searches: Any, scheduler: Any, extra: dict[str, Any], doc: Any) -> None:
    """Fill a Bokeh document with the searches of a scheduler and its workers."""
    page = _Page(searches, scheduler)
    page.update()
    add_periodic_callback(doc, page, EVERY)
    doc.title = "Bicliq: searches"
    doc.add_root(page.root)
    doc.template = env.get_template("simple.html")
    doc.template_variables.update(extra)
    doc.theme = BOKEH_THEME


class _Page:
    def __init__(self, searches: Any, scheduler: Any) -> None:
        self._searches, self._scheduler = searches, scheduler
        self._told, self._working = (Div(text="", sizing_mode="stretch_width") for _ in range(2))
        self._shares = {name: _empty(["run", *STATES]) for name in ("partitions", "cost")}
        self._rates = _empty(["at", "rate", "colour", "run"])
        self._load = _empty(["worker", "cpu", "memory", "gpu", "gpu_memory"])
        self._bars = [_bars(self._shares[name], f"{name} by state, %") for name in self._shares]
        self._loads, picture = _loads(self._load)
        self.root = column(
            self._told,
            row(*self._bars, _rates(self._rates), sizing_mode="stretch_width"),
            self._working,
            picture,
            sizing_mode="stretch_width",
        )

    def update(self) -> None:
        """Look again."""
        seen = dict(reversed(self._searches.by_run.items()))
        workers = [_worker(ws) for ws in sorted(self._scheduler.workers.values(), key=lambda ws: str(ws.name))]
        going = sum(each.state == "goes on" for each in seen.values())
        head = f"{going} of {len(seen)} searches go on, {len(workers)} workers" if seen else "no search yet"
        self._told.text = f"<h2>Bicliq: {head}</h2>" + _table([_search(*each) for each in seen.items()], SEARCHES)
        self._working.text = _table(workers, WORKERS)
        for name, bars in zip(self._shares, self._bars, strict=True):
            bars.y_range.factors = list(reversed(seen))
            self._shares[name].data = _shares({run: each.told[name] for run, each in seen.items()})
        lines = [(run, list(each.rates())) for run, each in seen.items()]
        self._rates.data = {
            "at": [[at * 1000 for at, _ in points] for _, points in lines],  # milliseconds, as Bokeh has times
            "rate": [[rate for _, rate in points] for _, points in lines],
            "colour": [Category10_8[n % len(Category10_8)] for n in range(len(lines))],
            "run": [run for run, _ in lines],
        }
        self._loads.factors = [each["worker"] for each in reversed(workers)]
        self._load.data = {
            "worker": [each["worker"] for each in workers],
            **{name: [each["shares"][name] for each in workers] for name in ("cpu", "memory", "gpu", "gpu_memory")},
        }


def _search(run: str, seen: Any) -> dict[str, str]:
    told, left = seen.told, seen.seconds_left
    sizes, cost = told["partitions"], told["cost"]
    rates = list(seen.rates())
    counts = told["asks"] == "counts"
    return {
        "run": run,
        "asks": told["asks"],
        "state": seen.state,
        "partitions": f"{sizes['committed']:,} of {sum(sizes.values()):,}",
        "cost": f"{told['cost_done'] / max(sum(cost.values()), 1e-9):.1%}",
        "bicliques": "" if counts else f"{told['bicliques']:,}",
        "rate": f"{rates[-1][1]:,.0f}" if rates and not told["ended"] else "",
        "took": _time(told["seconds"]),
        "left": ""
        if left is None
        else f"{_time(left)}, until {time.strftime('%H:%M:%S', time.localtime(seen.at + left))}",
    }


def _worker(ws: Any) -> dict[str, Any]:
    """What a worker's last heartbeat says; its numbers of GPUs are there where NVML is."""
    told = ws.metrics
    limit, used = ws.memory_limit, told.get("memory", 0)
    gpu_used, gpu_total = told.get("gpu_memory_used"), told.get("gpu-memory-total")
    cpu = told.get("cpu", 0.0)
    return {
        "worker": str(ws.name),
        "host": ws.host,
        "partition": told.get("bicliq_partition", ""),
        "rate": f"{told.get('bicliq_bicliques_per_second', 0):,.0f}",
        "bicliques": f"{told.get('bicliq_bicliques', 0):,}",
        "cpu": f"{cpu:.0f} %",
        "memory": f"{used / 2**30:.2f} GiB" + (f" of {limit / 2**30:.1f}" if limit else ""),
        "gpu": "" if gpu_used is None else f"{told.get('gpu_utilization') or 0:.0f} %",
        "gpu_memory": ""
        if gpu_used is None or not gpu_total
        else f"{gpu_used / 2**30:.1f} of {gpu_total / 2**30:.0f} GiB",
        "shares": {
            "cpu": cpu / max(ws.nthreads, 1),
            "memory": 100 * used / limit if limit else 0.0,
            "gpu": float(told.get("gpu_utilization") or 0),
            "gpu_memory": 100 * gpu_used / gpu_total if gpu_used and gpu_total else 0.0,
        },
    }


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _shares(by_run: dict[str, dict[str, float]]) -> dict[str, list[Any]]:
    """Percent of each state, a row a search."""
    totals = [max(sum(found.values()), 1e-9) for found in by_run.values()]
    columns = {
        state: [100 * found[state] / total for found, total in zip(by_run.values(), totals, strict=True)]
        for state in STATES
    }
    return {"run": list(by_run), **columns}


def _empty(names: Any) -> ColumnDataSource:
    return ColumnDataSource({name: [] for name in names})


def _table(rows: list[dict[str, Any]], heads: dict[str, str]) -> str:
    """HTML of a table; Bokeh's own shows its first rows for ever."""
    lines = [[head for head in heads.values()], *([str(found[name]) for name in heads] for found in rows)]
    cells = ("".join(f"<td style='padding: 3px 18px 3px 0'>{escape(cell)}</td>" for cell in line) for line in lines)
    first, *others = (f"<tr>{line}</tr>" for line in cells)
    return f"<table style='font-size: 13px'><thead style='color: #667'>{first}</thead>{''.join(others)}</table>"


def _bars(source: ColumnDataSource, title: str) -> Any:
    shown = figure(
        title=title,
        y_range=FactorRange(),
        x_range=Range1d(start=0, end=100),
        height=200,
        tools="",
        sizing_mode="stretch_width",
    )
    colours = [COLOURS[state] for state in STATES]
    shown.hbar_stack(
        STATES, y="run", height=0.7, color=colours, line_color=None, source=source, legend_label=list(STATES)
    )
    return _in_percent(shown)


def _rates(source: ColumnDataSource) -> Any:
    shown = figure(
        title="bicliques a second",
        height=200,
        y_range=DataRange1d(start=0),
        tools="",
        sizing_mode="stretch_width",
        x_axis_type="datetime",
    )
    shown.multi_line(xs="at", ys="rate", color="colour", line_width=2, source=source)
    shown.yaxis.formatter = NumeralTickFormatter(format="0.[0]a")
    shown.xaxis.formatter = DatetimeTickFormatter(seconds="%H:%M:%S", minutes="%H:%M", minsec="%H:%M:%S")
    shown.axis.minor_tick_line_color = None
    return shown


def _loads(source: ColumnDataSource) -> tuple[Any, Any]:
    """Bars of each worker's load, in percent; the range of its names, and the picture."""
    shown = figure(
        title="load of each worker, %",
        y_range=FactorRange(),
        x_range=Range1d(start=0, end=100),
        height=220,
        tools="",
        sizing_mode="stretch_width",
    )
    looks: list[tuple[str, str, float, str]] = [
        ("cpu", "CPU", 0.3, "#3b6ea5"), ("memory", "memory", 0.1, "#8fb4d9"),
        ("gpu", "GPU", -0.1, "#5a8f00"), ("gpu_memory", "GPU memory", -0.3, "#b5d56a"),
    ]  # fmt: skip
    for name, legend, offset, colour in looks:
        y = dodge("worker", offset, range=shown.y_range)
        shown.hbar(y=y, right=name, height=0.18, source=source, color=colour, legend_label=legend)
    return shown.y_range, _in_percent(shown)


def _in_percent(shown: Any) -> Any:
    shown.axis.minor_tick_line_color = None
    shown.legend.orientation = "horizontal"
    shown.legend.padding = shown.legend.margin = 2
    shown.add_layout(shown.legend[0], "below")
    return shown
