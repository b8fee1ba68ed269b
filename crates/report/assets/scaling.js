// SPDX-License-Identifier: GPL-2.0-only
// A measure on machines of different sizes, for the same cell.
"use strict";

// The current cell on all machines that it ran on, smallest first; none if they are too few.
function machines() {
  const own = cell();
  const alike = (it) => it.name === own.name && it.backend === own.backend && it.cpus > 0;
  const found = data.cells.filter(alike).sort((a, b) => a.cpus - b.cpus);
  return new Set(found.map(({ cpus }) => cpus)).size < 3 ? [] : found;
}

// Rates are divided by the number of CPUs: a scheduler that scales keeps a level line.
function perCpu(entry, cpus) {
  const [median, interval] = entry;
  const divided = (value) => value / cpus;
  return [median === null ? null : divided(median), interval ? interval.map(divided) : null, null];
}

function drawScaling() {
  const chosen = row();
  const isRate = chosen.unit === "per_second";
  const points = machines()
    .map(({ cpus, ...it }) => ({ at: cpus, row: row(chosen.key, it) }))
    .filter(({ row }) => row)
    .map(({ at, row }) => ({
      at, row: { entries: row.entries.map((it) => isRate ? perCpu(it, at) : it) },
    }));
  const medians = points
    .flatMap(({ row }) => shownContestants().map((index) => row.entries[index][0]))
    .filter((median) => median !== null);
  if (medians.length === 0) return draw("scaling", []);
  const { axis: scaleAxis, place } = valueAxis(medians, chosen.unit);
  const ticks = [...new Set(points.map(({ at }) => at))];
  caption("scaling", "On growing machines", isRate ? `${chosen.label}, per CPU` : chosen.label);
  const lines = (index) => rampLines(index, points, place, chosen.unit).map((line) => ({
    ...line, showlegend: line.mode.includes("markers"),
  }));
  draw("scaling", shownContestants().flatMap(lines), {
    height: 420,
    xaxis: titled("CPUs", {
      type: "log", tickvals: ticks, ticktext: ticks.map((tick) => NUMBERS.plain.format(tick)),
    }),
    yaxis: scaleAxis.type === "log" ? scaleAxis : { ...scaleAxis, rangemode: "tozero" },
    showlegend: true,
    margin: { l: 56, r: 14, t: 34, b: 44 },
  });
}
