#!/usr/bin/env python3
"""Draws what `benches/results/` holds: `benches/draw.py [--check]`.

In: the JSON files of `compare.sh`, `growth.py` and `peers/run.py`. Out: pictures for light and dark pages in `docs/pictures/`;
with `--check` none is written, and one that is not current is an error.
"""
import json, math, pathlib, sys

HERE = pathlib.Path(__file__).resolve().parent
PICTURES = HERE.parent / "docs/pictures"
# Colours of lines on light and on dark pages; ephor is always the first.
LINES = [("#0969da", "#4493f8"), ("#9a6700", "#d29922"), ("#8250df", "#ab7df8"), ("#1a7f37", "#3fb950"), ("#cf222e", "#f85149")]


def style():
    line = lambda i, c: f".c{i} {{ stroke: {c} }} .f{i} {{ fill: {c} }}"
    light = " ".join(line(i, c[0]) for i, c in enumerate(LINES))
    dark = " ".join(line(i, c[1]) for i, c in enumerate(LINES))
    return (f"text {{ font: 14px system-ui, sans-serif; fill: #1f2328 }}\n.small {{ font-size: 12px }} .strong {{ font-weight: 600 }} .quiet {{ fill: #59636e }}\n"
            f".page {{ fill: #ffffff }} .grid {{ stroke: #d1d9e0 }} .line {{ fill: none; stroke-width: 2 }} .ideal {{ stroke-dasharray: 4 4; stroke: #59636e; fill: none }}\n{light}\n"
            f"@media (prefers-color-scheme: dark) {{\ntext {{ fill: #f0f6fc }} .quiet {{ fill: #9198a1 }} .page {{ fill: #0d1117 }} .grid {{ stroke: #3d444d }} .ideal {{ stroke: #9198a1 }}\n{dark}\n}}")


def picture(width, height, label, shapes):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="{label}">\n'
            f'<style>\n{style()}\n</style>\n<rect class="page" width="{width}" height="{height}" rx="8"/>\n' + "\n".join(shapes) + "\n</svg>\n")


def text(x, y, content, classes="small quiet", anchor="start"):
    content = content.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{classes}" text-anchor="{anchor}">{content}</text>'


def short(value, unit=""):
    """1500 as `1,500`, 0.25 s as `250 ms`."""
    if unit == "s" and value < 1:
        return f"{value * 1000:.3g} ms"
    return (f"{value:,.0f}" if value >= 100 else f"{value:.3g}") + (f" {unit}" if unit else "")


class Scale:
    """Positions of values from `low` to `high`; logarithmic scales begin and end at powers of ten."""

    def __init__(self, values, start, length, logarithmic=True):
        self.start, self.length, self.logarithmic = start, length, logarithmic
        if logarithmic:
            self.low, self.high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
            self.high = max(self.high, self.low + 1)
        else:
            self.low, self.high = 0, max(values) * 1.1

    def at(self, value):
        value = math.log10(value) if self.logarithmic else value
        return self.start + (value - self.low) / (self.high - self.low) * self.length

    def ticks(self):
        if self.logarithmic:
            return [10.0 ** k for k in range(self.low, self.high + 1)]
        step = 10 ** math.floor(math.log10(self.high)) / 2
        while self.high / step > 5:
            step *= 2
        return [step * k for k in range(int(self.high / step) + 1)]


def panel(left, title, unit, lines, logarithmic, x_name):
    """Axes and lines ({name: [(x, y)]}) at a place of the picture."""
    top, width, height = 66, 250, 190
    xs = [x for points in lines.values() for x, _ in points]
    ys = [y for points in lines.values() for _, y in points]
    across = Scale(xs, left, width, logarithmic)
    up = Scale(ys, top + height, -height, logarithmic)
    shapes = [text(left, top - 14, title, "small strong")]
    for tick in up.ticks():
        y = up.at(tick)
        shapes += [f'<path class="grid" d="M{left} {y:.1f}h{width}"/>', text(left - 6, y + 4, short(tick, unit), anchor="end")]
    for x in sorted(set(xs)) if not logarithmic else across.ticks():
        shapes.append(text(across.at(x), top + height + 18, short(x), anchor="middle"))
    shapes.append(text(left + width / 2, top + height + 36, x_name, anchor="middle"))
    for i, (name, points) in enumerate(lines.items()):
        path = "L".join(f"{across.at(x):.1f} {up.at(y):.1f}" for x, y in points)
        shapes.append(f'<path class="line c{i}" d="M{path}"/>')
        shapes += [f'<circle class="f{i}" cx="{across.at(x):.1f}" cy="{up.at(y):.1f}" r="3"><title>{name}: {short(x)} {x_name}, {short(y, unit)}</title></circle>' for x, y in points]
    return shapes


def chart(title, x_name, panels, logarithmic=True):
    """Panels ((title, unit, lines)) side by side under a title, with the names of the lines below."""
    shapes = [text(24, 30, title, "strong")]
    for i, (name, unit, lines) in enumerate(panels):
        shapes += panel(80 + 340 * i, name, unit, lines, logarithmic, x_name)
    x = 80
    for i, name in enumerate(panels[0][2]):
        shapes += [f'<rect class="f{i}" x="{x}" y="312" width="12" height="4"/>', text(x + 18, 318, name)]
        x += 40 + 7 * len(name)
    return picture(80 + 340 * len(panels), 334, title, shapes)


def lines(runs, name, x, y):
    found = {}
    for run in runs:
        found.setdefault(run[name], []).append((run[x], run[y]))
    return found


def growth(runs, key, title, x_name):
    runs = [run for run in runs if run["chart"] == key]
    return chart(title, x_name, [("processor time", "s", lines(runs, "line", "x", "cpu_seconds")), ("memory", "MB", lines(runs, "line", "x", "megabytes"))])


def threads(runs):
    runs = [run for run in runs if run["chart"] == "threads"]
    rate = {"ephor": [(run["x"], runs[0]["seconds"] / run["seconds"]) for run in runs]}
    return chart("Threads: objects a second, compared with one thread", "threads", [("times one thread", "", rate), ("memory", "MB", lines(runs, "line", "x", "megabytes"))], False)


def main():
    read = lambda name: json.loads((HERE / f"results/{name}.json").read_text())["runs"]
    runs, peers = read("growth"), read("peers")
    pictures = {
        "growth-policies.svg": growth(runs, "policies", "Policies: 1,000 Pods", "policies"),
        "growth-objects.svg": growth(runs, "objects", "Objects: policies/best-practices", "Pods"),
        "growth-bindings.svg": growth(runs, "bindings", "Bindings of a native policy: 1,000 Pods", "bindings"),
        "growth-threads.svg": threads(runs),
        "peers.svg": chart("Pod Security Standards on the same objects", "objects",
                           [("processor time", "s", lines(peers, "program", "objects", "cpu_seconds")), ("memory", "MB", lines(peers, "program", "objects", "megabytes"))]),
    }
    for name, drawn in pictures.items():
        path = PICTURES / name
        if "--check" not in sys.argv:
            path.write_text(drawn)
        elif not path.exists() or path.read_text() != drawn:
            sys.exit(f"{path.relative_to(HERE.parent)} is not what {pathlib.Path('benches/results')} says: run benches/draw.py")


main()
