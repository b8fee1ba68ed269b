// SPDX-License-Identifier: GPL-2.0-only
// Distributions: percentile curves with a stretched tail, and log-log histograms.
"use strict";

// The distribution that belongs to the chosen measure: its own, else the cell's first headline one,
// else any.
function distribution() {
  const all = cell().distributions;
  const of = (row) => all.find((it) => row && it.name === row.name && it.group === row.group);
  const headline = cell().rows.filter((row) => row.headline).map(of).find(Boolean);
  return of(row()) ?? headline ?? all[0];
}

function drawCurve() {
  const chosen = distribution();
  if (!chosen) return draw("curve", []);
  const shown = shownContestants().filter((index) => chosen.contestants[index]?.samples > 0);
  const pooled = shown.map((index) => chosen.contestants[index].pooled);
  const values = pooled.flat().filter((value) => value > 0);
  if (values.length === 0) return draw("curve", []);
  const traces = shown.flatMap((index) => [...band(index, chosen), curve(index, chosen)]);
  caption("curve", "Latency by percentile", distributionLabel(chosen));
  draw("curve", traces, {
    height: 400,
    xaxis: percentileAxis(Math.max(...pooled.map((points) => points.length))),
    yaxis: logAxis(Math.min(...values), Math.max(...values), "nanoseconds"),
  });
}

function distributionLabel(chosen) {
  const name = chosen.name.replace(/_ns$/, "").replaceAll("_", " ");
  return chosen.group === "all" ? name : `${name} · ${chosen.group}`;
}

function xOf(point) {
  return 10 ** (point / data.points_per_decade);
}

// On a logarithmic axis a zero has no place; the smallest time is a nanosecond.
function atLeastOne(values) {
  return values.map((value) => Math.max(value, 1));
}

function band(index, chosen) {
  const { low, high, trials } = chosen.contestants[index];
  if (trials < 2) return [];
  const own = contestantColour(index);
  const edge = {
    type: "scatter", mode: "lines", x: low.map((_, point) => xOf(point)), hoverinfo: "skip",
    line: { width: 0, color: own },
  };
  return [{ ...edge, y: atLeastOne(low) }, { ...edge, y: atLeastOne(high), fill: "tonexty",
    fillcolor: faded(own, 0.13) }];
}

function curve(index, chosen) {
  const { pooled, samples, trials } = chosen.contestants[index];
  const percentile = (point) => `p${Number((100 * (1 - 1 / xOf(point))).toFixed(5))}`;
  return {
    type: "scatter", mode: "lines", name: plain(data.contestants[index]),
    x: pooled.map((_, point) => xOf(point)), y: atLeastOne(pooled),
    line: { color: contestantColour(index), width: 2, dash: dash(index) },
    text: pooled.map((value, point) => `${percentile(point)}: ${format(value, "nanoseconds")}`),
    hovertemplate: `<b>${plain(data.contestants[index])}</b><br>%{text}<br>` +
      `${NUMBERS.plain.format(samples)} samples, ${trials} trials<extra></extra>`,
  };
}

function percentileAxis(points) {
  const ticks = [1, 2, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7];
  const names = ["min", "p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "p99.9999", "p99.99999"];
  // Where the chart is narrow the first two names would touch.
  if (byId("chart-curve").clientWidth < 440) names[0] = "";
  const range = [0, (points - 1) / data.points_per_decade + 0.08];
  return axis({ type: "log", tickvals: ticks, ticktext: names, range });
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
