// SPDX-License-Identifier: GPL-2.0-only
// The decision timeline: CPUs above, tasks below, waits as thin lines.
"use strict";

// More task rows than these cannot be read.
const TASK_ROWS = 48;

// The most slices of the first view.
const FIRST_VIEW = 220;

// Times are in tenths of a microsecond; the axis is in milliseconds.
const TENTHS_PER_MS = 10_000;

function drawTimeline() {
  const pick = byId("pick-timeline");
  if (!pick) return;
  const timeline = data.timelines[pick.value];
  const rows = timelineRows(timeline);
  place(byId("chart-timeline"), () => timelineTraces(timeline, rows), {
    height: 96 + 17 * rows.names.length, showlegend: true,
    margin: { l: 56, r: 14, t: 30, b: 44 }, dragmode: "zoom",
    xaxis: titled("ms since the common start", { range: firstView(timeline) }),
    yaxis: axis({
      tickvals: [...rows.names.keys()], ticktext: rows.names, fixedrange: true, ticks: "",
      range: [rows.names.length - 0.4, -0.7], showgrid: false, zeroline: false,
      tickfont: { size: 11, color: colour("ink") },
    }),
    shapes: [divider(timeline.cpus.length)],
  });
  byId("timeline-note").textContent = timeline.note + rows.note;
}

function timelineTraces(timeline, rows) {
  const groups = [...new Set(timeline.tasks.map(([, group]) => group))];
  const lanes = groups.map(() => ({ x: [], y: [], text: [] }));
  fillSlices(timeline, rows, groups, lanes);
  return [waitTrace(timeline, rows),
    ...lanes.map((lane, place) => laneTrace(lane, groups[place], place))];
}

// Row numbers of CPUs and tasks, and the rows' names.
function timelineRows(timeline) {
  const shown = timeline.tasks.slice(0, TASK_ROWS);
  const hidden = timeline.tasks.length - shown.length;
  return {
    names: [...timeline.cpus.map((cpu) => `CPU ${cpu}`),
      ...shown.map(([name, , pid]) => plain(`${name} ${pid}`))],
    ofCpu: (place) => place,
    ofTask: (place) => (place < TASK_ROWS ? timeline.cpus.length + place : null),
    note: hidden > 0 ? ` ${hidden} more tasks have no row of their own.` : "",
  };
}

function fillSlices(timeline, rows, groups, lanes) {
  const { slices, tasks } = timeline;
  for (let at = 0; at < slices.length; at += 4) {
    const [cpu, task, start, length] = slices.slice(at, at + 4);
    const [name, group] = tasks[task];
    const words = plain(`${name} on CPU ${timeline.cpus[cpu]}, ${microseconds(length)}`);
    for (const place of [rows.ofCpu(cpu), rows.ofTask(task)]) {
      if (place !== null) addLine(lanes[groups.indexOf(group)], place, start, length, words);
    }
  }
}

function microseconds(tenths) {
  return `${NUMBERS.plain.format(tenths / 10)} µs`;
}

// Lines of a trace are separated by holes.
function addLine(lane, place, start, length, words) {
  lane.x.push(start / TENTHS_PER_MS, (start + length) / TENTHS_PER_MS, null);
  lane.y.push(place, place, null);
  lane.text.push(words, words, "");
}

function laneTrace(lane, group, place) {
  const own = group === "" ? colour("faint") : groupColour(place);
  return {
    type: "scatter", mode: "lines", name: plain(group === "" ? "other tasks" : group),
    x: lane.x, y: lane.y, text: lane.text, line: { color: own, width: 10 },
    hovertemplate: "%{text}<extra></extra>",
  };
}

function waitTrace(timeline, rows) {
  const lane = { x: [], y: [], text: [] };
  const { waits, tasks } = timeline;
  for (let at = 0; at < waits.length; at += 3) {
    const [task, start, length] = waits.slice(at, at + 3);
    const place = rows.ofTask(task);
    const words = plain(`${tasks[task][0]} waits ${microseconds(length)}`);
    if (place !== null) addLine(lane, place, start, length, words);
  }
  return {
    type: "scatter", mode: "lines", name: "waits", x: lane.x, y: lane.y, text: lane.text,
    line: { color: faded(colour("faint"), 0.75), width: 1.6 },
    hovertemplate: "%{text}<extra></extra>",
  };
}

function firstView({ slices }) {
  const last = Math.min(slices.length, FIRST_VIEW * 4) - 4;
  const end = last >= 0 ? slices[last + 2] + slices[last + 3] : TENTHS_PER_MS;
  return [slices.length ? slices[2] / TENTHS_PER_MS : 0, end / TENTHS_PER_MS];
}

function divider(cpus) {
  return { type: "line", xref: "paper", x0: 0, x1: 1, y0: cpus - 0.5, y1: cpus - 0.5,
    line: { color: colour("line"), width: 1 } };
}

// Zooming and moving without a mouse.
function moveTimeline(factor, shift) {
  const chart = byId("chart-timeline");
  if (!chart.layout) return;
  const [from, to] = chart.layout.xaxis.range;
  const [middle, half] = [(from + to) / 2 + shift * (to - from), ((to - from) / 2) * factor];
  Plotly.relayout(chart, { "xaxis.range": [middle - half, middle + half] });
}

function timelineButtons() {
  const buttons = [
    ["←", "Earlier", 1, -0.5],
    ["→", "Later", 1, 0.5],
    ["+", "Closer", 0.5, 0],
    ["−", "Wider", 2, 0],
  ].map(([sign, title, factor, shift]) => {
    const onclick = () => moveTimeline(factor, shift);
    return element("button", { type: "button", title, "aria-label": title, onclick }, sign);
  });
  const group = element("span", { className: "zoom" }, ...buttons);
  byId("pick-timeline").closest(".controls").append(group);
}
