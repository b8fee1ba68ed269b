// SPDX-License-Identifier: GPL-2.0-only
// Distributions: histograms with two logarithmic axes.
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
  if (!chosen) return draw("histogram", []);
  const shown = shownContestants().filter((index) => chosen.contestants[index]?.bins.length > 0);
  const bins = shown.flatMap((index) => chosen.contestants[index].bins);
  if (bins.length === 0) return draw("histogram", []);
  const places = bins.map(([bin]) => bin);
  const [least, last] = [Math.min(...places), Math.max(...places)].map(edgeOf);
  const most = Math.max(...bins.map(([, samples]) => samples));
  caption("histogram", "Distribution", distributionLabel(chosen));
  draw("histogram", shown.map((index) => outline(index, chosen)), {
    height: 400,
    xaxis: logAxis(least, last, "nanoseconds"),
    yaxis: titled("samples", { type: "log", dtick: 1,
      range: [-0.3, Math.log10(most) + 0.15] }),
  });
}

// Where a bin begins, in nanoseconds.
function edgeOf(bin) {
  return 10 ** (bin / data.bins_per_decade);
}

// The outline of one contestant's bins; empty bins go below the axis.
function outline(index, chosen) {
  const counts = new Map(chosen.contestants[index].bins);
  const places = [...counts.keys()];
  const [x, y, text] = [[], [], []];
  for (let bin = Math.min(...places) - 1; bin <= Math.max(...places) + 1; bin += 1) {
    const samples = counts.get(bin) ?? 0;
    const ends = [bin, bin + 1].map((edge) => format(edgeOf(edge), "nanoseconds"));
    x.push(edgeOf(bin));
    y.push(samples || 0.1);
    text.push(`${ends.join(" to ")}: ${NUMBERS.plain.format(samples)}`);
  }
  const own = contestantColour(index);
  return {
    type: "scatter", mode: "lines", x, y, text, name: plain(data.contestants[index]),
    line: { shape: "hv", color: own, width: 1.6, dash: dash(index) },
    hovertemplate: `<b>${plain(data.contestants[index])}</b><br>%{text} samples<extra></extra>`,
  };
}
