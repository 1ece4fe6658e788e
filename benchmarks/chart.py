"""Curves over time, as one SVG file that needs nothing else: small charts, two in a row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

WIDTH, HEIGHT = 900, 190  # of the picture, and of a chart
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 34, 34  # around a chart's curves
HEAD = 46
COLOURS = ("#1f5fa8", "#c8501e")
GRID, INK = "#dddddd", "#333333"


@dataclass(frozen=True, slots=True)
class Chart:
    """Curves by name, one value for each moment; `by_tens`: each line of the grid is ten times the one below."""

    title: str
    unit: str
    curves: Mapping[str, Sequence[float]]
    by_tens: bool = False


def draw(title: str, minutes: Sequence[float], charts: Sequence[Chart]) -> str:
    """The picture."""
    rows = math.ceil(len(charts) / 2)
    size = f'width="{WIDTH}" height="{HEAD + rows * HEIGHT}" viewBox="0 0 {WIDTH} {HEAD + rows * HEIGHT}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" fill="{INK}">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        _text(LEFT, 26, title, more='font-size="15" font-weight="bold"'),
    ]
    for nth, chart in enumerate(charts):
        lines.append(f'<g transform="translate({nth % 2 * WIDTH // 2} {HEAD + nth // 2 * HEIGHT})">')
        lines += [*_chart(chart, minutes), "</g>"]
    return "\n".join([*lines, "</svg>", ""])


def _chart(chart: Chart, minutes: Sequence[float]) -> Iterator[str]:
    width, height = WIDTH // 2 - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    values = [value for curve in chart.curves.values() for value in curve if math.isfinite(value)]
    ticks = _tens(values) if chart.by_tens else _even(max(values, default=1.0))
    lowest, highest = _height(ticks[0], chart), _height(ticks[-1], chart)
    last = max(minutes[-1], 1e-9)

    def x(minute: float) -> float:
        return LEFT + width * minute / last

    def y(value: float) -> float:
        return TOP + height * (1 - (_height(max(value, ticks[0]), chart) - lowest) / (highest - lowest))

    yield _text(LEFT, TOP - 14, f"{chart.title}, {chart.unit}", more='font-weight="bold"')
    for tick in ticks:
        yield f'<path d="M{LEFT} {y(tick):.1f}h{width}" stroke="{GRID}"/>'
        yield _text(LEFT - 6, y(tick) + 4, f"{tick:,.6g}", more='text-anchor="end"')
    for minute in _even(last, 6):
        if minute <= last:
            yield _text(x(minute), TOP + height + 16, f"{minute:g}", more='text-anchor="middle"')
    yield _text(LEFT + width / 2, TOP + height + 29, "minutes", more='text-anchor="middle" font-size="10"')
    for nth, (name, curve) in enumerate(chart.curves.items()):
        points = " ".join(
            f"{x(minute):.1f},{y(value):.1f}"
            for minute, value in zip(minutes, curve, strict=True)
            if math.isfinite(value)
        )
        yield f'<polyline points="{points}" fill="none" stroke="{COLOURS[nth]}" stroke-width="1.5"/>'
        if len(chart.curves) > 1:
            at = LEFT + width - 90 * (len(chart.curves) - 1 - nth)
            yield _text(at, TOP - 14, name, more=f'text-anchor="end" fill="{COLOURS[nth]}"')


def _height(value: float, chart: Chart) -> float:
    return math.log10(value) if chart.by_tens else value


def _even(highest: float, about: int = 4) -> list[float]:
    """Round numbers from 0 to at least the highest."""
    power = 10 ** math.floor(math.log10(max(highest, 1e-9) / about))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor * about >= highest)
    return [step * nth for nth in range(max(1, math.ceil(highest / step - 1e-9)) + 1)]


def _tens(values: Sequence[float]) -> list[float]:
    """Powers of ten around all that is more than 0."""
    some = [value for value in values if value > 0] or [1.0]
    first, last = math.floor(math.log10(min(some))), math.ceil(math.log10(max(some)))
    return [10.0**power for power in range(first, max(last, first + 1) + 1)]


def _text(x: float, y: float, text: str, *, more: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(text)}</text>'
