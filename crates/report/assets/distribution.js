// SPDX-License-Identifier: GPL-2.0-only
// Distributions: a row of bins for each contestant, on one logarithmic axis.
"use strict";

// The distribution that belongs to the chosen measure: its own, else the cell's first headline one,
// else any.
function distribution() {
  const all = cell().distributions;
  const of = (row) => all.find((it) => row && it.name === row.name && it.group === row.group);
  const headline = cell().rows.filter((row) => row.headline).map(of).find(Boolean);
  return of(row()) ?? headline ?? all[0];
}

function distributionLabel(chosen) {
  const name = chosen.name.replace(/_ns$/, "").replaceAll("_", " ");
  return chosen.group === "all" ? name : `${name} · ${chosen.group}`;
}

function drawHistogram() {
  const chosen = distribution();
  const shown = shownContestants().filter((index) => chosen?.contestants[index]?.bins.length > 0);
  if (shown.length === 0) return draw("histogram", []);
  const bins = shown.flatMap((index) => chosen.contestants[index].bins);
  const places = bins.map(([bin]) => bin);
  const [least, last] = [Math.min(...places), Math.max(...places)].map(edgeOf);
  const most = Math.max(...bins.map(([, samples]) => samples));
  caption("histogram", "Distribution", distributionLabel(chosen));
  byId("chart-histogram").numbers = () => [["contestant", "from_ns", "to_ns", "samples"],
    ...shown.flatMap((index) => chosen.contestants[index].bins.map(([bin, samples]) =>
      [data.contestants[index], edgeOf(bin), edgeOf(bin + 1), samples]))];
  draw("histogram", shown.map((index, row) => outline(index, row, chosen, most)), {
    height: 92 + 34 * shown.length,
    xaxis: logAxis(least, last, "nanoseconds"),
    yaxis: { ...nameAxis(), autorange: false, range: [shown.length - 0.8, -1],
      tickvals: [...shown.keys()], ticktext: shown.map((index) => plain(data.contestants[index])) },
  });
}

// Where a bin begins, in nanoseconds.
function edgeOf(bin) {
  return 10 ** (bin / data.bins_per_decade);
}

// The outline of one contestant's bins above the line of its row.
function outline(index, row, chosen, most) {
  const counts = new Map(chosen.contestants[index].bins);
  const places = [...counts.keys()];
  const [x, y, text] = [[], [], []];
  for (let bin = Math.min(...places) - 1; bin <= Math.max(...places) + 1; bin += 1) {
    const samples = counts.get(bin) ?? 0;
    const ends = [bin, bin + 1].map((edge) => format(edgeOf(edge), "nanoseconds"));
    x.push(edgeOf(bin));
    y.push(row - 0.85 * Math.log1p(samples) / Math.log1p(most));
    text.push(`${ends.join(" to ")}: ${NUMBERS.plain.format(samples)}`);
  }
  const own = contestantColour(index);
  return {
    type: "scatter", mode: "lines", x, y, text, fill: "toself", fillcolor: faded(own, 0.25),
    line: { shape: "hv", color: own, width: 1.3 }, hoveron: "points",
    hovertemplate: `<b>${plain(data.contestants[index])}</b><br>%{text} samples<extra></extra>`,
  };
}
