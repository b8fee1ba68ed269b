// SPDX-License-Identifier: GPL-2.0-only
// Charts of ramps, switches and shares.
"use strict";

// Cells that differ from the current one in exactly one parameter, with it: the longest such ramp.
function ramp() {
  const own = cell();
  const ramps = Object.keys(own.parameters).map((parameter) => {
    const others = Object.entries(own.parameters).filter(([name]) => name !== parameter);
    const same = ["workload", "machine", "backend"];
    const alike = (it) => same.every((name) => it[name] === own[name]) &&
      others.every(([name, value]) => it.parameters[name] === value);
    return { parameter, cells: data.cells.filter(alike) };
  });
  ramps.sort((a, b) => b.cells.length - a.cells.length);
  return ramps.find(({ cells }) => cells.length > 1);
}

function drawRamp() {
  const found = ramp();
  const chosen = row();
  if (!found) return draw("ramp", []);
  const points = found.cells
    .map((it) => ({ at: it.parameters[found.parameter], row: row(chosen.key, it) }))
    .filter(({ row }) => row)
    .sort((a, b) => a.at - b.at);
  const medians = points
    .flatMap(({ row }) => shownContestants().map((index) => row.entries[index][0]))
    .filter((median) => median !== null);
  if (points.length < 2 || medians.length === 0) return draw("ramp", []);
  const { axis: scaleAxis, place } = valueAxis(medians, chosen.unit);
  const lines = (index) => rampLines(index, points, place, chosen.unit);
  caption("ramp", "By parameter", chosen.label);
  draw("ramp", shownContestants().flatMap(lines), {
    height: 400,
    xaxis: titled(plain(found.parameter), { tickvals: points.map(({ at }) => at) }),
    yaxis: scaleAxis,
  });
}

function rampLines(index, points, place, unit) {
  const known = points
    .map(({ at, row }) => ({ at, entry: row.entries[index] }))
    .filter(({ entry }) => entry[0] !== null);
  if (known.length === 0) return [];
  const own = contestantColour(index);
  const x = known.map(({ at }) => at);
  const edge = (end) => ({
    type: "scatter", mode: "lines", x, line: { width: 0, color: own }, hoverinfo: "skip",
    y: known.map(({ entry }) => place(entry[1] ? entry[1][end] : entry[0])),
  });
  const words = ([median, , shift]) =>
    shift === null ? format(median, unit) : `${format(median, unit)}, ${percent(shift)}`;
  return [edge(0), { ...edge(1), fill: "tonexty", fillcolor: faded(own, 0.14) }, {
    type: "scatter", mode: "lines+markers", name: plain(data.contestants[index]),
    x, y: known.map(({ entry }) => place(entry[0])),
    line: { color: own, width: 2, dash: dash(index) }, marker: { color: own, size: 6 },
    text: known.map(({ entry }) => words(entry)),
    hovertemplate: `<b>${plain(data.contestants[index])}</b><br>%{text}<extra></extra>`,
  }];
}

// The task groups that have this measure, without the sum.
function groupsOf(name) {
  const parts = cell().rows.filter((row) => row.name === name && row.group !== "all");
  return parts.map((row) => row.group);
}

// The medians of a measure over all groups: its own sum where there is one.
function totals(name) {
  const whole = rowOf(name, "all");
  const parts = groupsOf(name).map((group) => rowOf(name, group));
  return (index) => whole ? whole.entries[index][0]
    : parts.reduce((sum, row) => sum + (row.entries[index][0] ?? 0), 0);
}

function drawSwitches() {
  const kinds = [
    ["voluntary_switches", "voluntary", "g1"],
    ["involuntary_switches", "involuntary", "g2"],
  ];
  const known = kinds.filter(([name]) => cell().rows.some((row) => row.name === name));
  const traces = known.map(([name, word, own]) => {
    const median = totals(name);
    return bars(word, colour(own), median, (value) => `${format(value, "count")} ${word}`);
  });
  caption("switches", "Context switches", "all tasks");
  draw("switches", traces, barLayout());
}

function drawShares() {
  const groups = groupsOf("cpu_share");
  const traces = groups.map((group, place) => {
    const of = rowOf("cpu_share", group);
    const own = groupColour(place);
    const words = (value) => `${percent(100 * value).replace("+", "")} ${plain(group)}`;
    return bars(plain(group), own, (index) => of.entries[index][0], words);
  });
  caption("share", "CPU time by task group", "by task group");
  const settings = barLayout();
  settings.xaxis = axis({ tickformat: ".0%", rangemode: "tozero" });
  draw("share", traces, settings);
}

function bars(name, own, median, words) {
  const shown = shownContestants();
  const values = shown.map((index) => median(index) ?? 0);
  return {
    type: "bar", orientation: "h", name, x: values, text: values.map(words), textposition: "none",
    y: shown.map((index) => plain(data.contestants[index])), marker: { color: faded(own, 0.82) },
    hovertemplate: "<b>%{y}</b><br>%{text}<extra></extra>",
  };
}

function barLayout() {
  return {
    height: 110 + 30 * shownContestants().length, barmode: "stack", bargap: 0.35, showlegend: true,
    margin: { l: 56, r: 14, t: 34, b: 40 },
    xaxis: axis({ rangemode: "tozero" }),
    yaxis: nameAxis(),
  };
}
