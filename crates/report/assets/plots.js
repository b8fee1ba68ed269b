// SPDX-License-Identifier: GPL-2.0-only
// One look for all charts, axes for times, and the chart of every trial.
"use strict";

const CONFIGURATION = {
  displaylogo: false,
  responsive: true,
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "zoomIn2d", "zoomOut2d"],
  toImageButtonOptions: { format: "svg", filename: "fairground" },
};

function axis(settings = {}) {
  return {
    gridcolor: colour("line"), linecolor: colour("faint"), zerolinecolor: colour("line"),
    tickcolor: colour("faint"), ticks: "outside", ticklen: 4, automargin: true, ...settings,
  };
}

function titled(text, settings = {}) {
  return axis({ title: { text, standoff: 8, font: { size: 12.5 } }, ...settings });
}

// An axis of contestants, the first on top.
function nameAxis() {
  const tickfont = { color: colour("ink") };
  return axis({ autorange: "reversed", ticks: "", showgrid: false, tickfont });
}

function layout(settings = {}) {
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(byId("chips")).fontFamily, size: 12.5, color: colour("soft") },
    margin: { l: 56, r: 14, t: 10, b: 44 }, hovermode: "closest", showlegend: false,
    hoverlabel: {
      bgcolor: colour("raised"), bordercolor: colour("line"),
      font: { color: colour("ink"), size: 12.5 },
    },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("faint"), activecolor: colour("ink") },
    legend: {
      orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 12 }, traceorder: "normal",
    },
    ...settings,
  };
}

// Shows a chart's figure, or hides it when there is nothing to draw.
function draw(id, traces, settings, then) {
  const [figure, chart] = [byId(`figure-${id}`), byId(`chart-${id}`)];
  figure.hidden = traces.length === 0;
  if (traces.length === 0) return forget(chart);
  place(chart, () => traces, settings, then);
}

// A title with the measure next to it, also for screen readers.
function caption(id, title, subject) {
  const heading = byId(`figure-${id}`).querySelector("h3");
  heading.replaceChildren(title, element("small", {}, subject), element("small", {}, cell().name));
  const label = `${title}: ${subject}, ${cell().name}. The tables hold the numbers.`;
  byId(`chart-${id}`).setAttribute("aria-label", label);
}

// An axis for numbers of a unit: logarithmic over wide ranges, else in one fitting unit.
// Returns the axis and how to place a value on it.
function valueAxis(values, unit, forceLog = false) {
  const positive = values.filter((value) => value > 0);
  const [least, most] = [Math.min(...positive), Math.max(...positive)];
  if (positive.length === values.length && positive.length > 0 && (forceLog || most / least > 30)) {
    return { axis: logAxis(least, most, unit), place: (value) => value };
  }
  const [factor, suffix] = scale(Math.max(...values.map(Math.abs), 0), unit);
  const settings = values.every((value) => value === 0) ? { range: [-0.05, 1] } : {};
  return { axis: titled(suffix, settings), place: (value) => value / factor };
}

function logAxis(least, most, unit) {
  const decades = [];
  for (let power = Math.floor(Math.log10(least)) - 1; power <= Math.log10(most) + 1; power += 1) {
    decades.push(10 ** power);
  }
  const between = most / least < 50 ? [1, 2, 5] : [1];
  const ticks = decades.flatMap((decade) => between.map((step) => step * decade));
  const words = ticks.map((tick) => shortTick(tick, unit));
  return axis({ type: "log", tickvals: ticks, ticktext: words });
}

function shortTick(value, unit) {
  const [factor, suffix] = scale(value, unit);
  const digits = NUMBERS.plain.format(Number((value / factor).toPrecision(3)));
  return suffix ? `${digits} ${suffix}` : digits;
}

// Values of a row by contestant, each with its place among the cell's trials.
function trialsOf(row, contestant, of = cell()) {
  const trials = [];
  (row.values ?? []).forEach((value, place) => {
    const trial = data.trials[of.trials[place]];
    if (value !== null && trial.contestant === contestant && trial.outcome === "ok") {
      trials.push({ value, trial });
    }
  });
  return trials;
}

const TRIALS_CAPTION =
  "Each point is one trial; the box spans the middle half of the trials, its " +
  "line is the median. No trial is left out.";

// Horizontal boxes with every trial as a point; a click opens the trial.
function drawTrialBoxes() {
  const chosen = row();
  const groups = shownContestants().map((index) => ({ index, trials: trialsOf(chosen, index) }));
  const filled = groups.filter((group) => group.trials.length > 0);
  const values = filled.flatMap((group) => group.trials.map((point) => point.value));
  if (values.length === 0) return draw("trials", []);
  const { axis: scaleAxis, place } = valueAxis(values, chosen.unit);
  const traces = filled.map(({ index, trials }) => box(index, trials, place, chosen.unit));
  const without = groups.filter((group) => group.trials.length === 0);
  const names = without.map((group) => data.contestants[group.index]).join(", ");
  byId("figure-trials").querySelector("figcaption").textContent = TRIALS_CAPTION +
    (names ? ` No trial has a number: ${names}.` : "");
  caption("trials", "Every trial", chosen.label);
  draw("trials", traces, {
    height: 92 + 34 * filled.length,
    xaxis: scaleAxis,
    yaxis: nameAxis(),
  }, openOnClick);
}

function box(index, trials, place, unit) {
  const own = contestantColour(index);
  const name = plain(data.contestants[index]);
  return {
    type: "box", orientation: "h", name,
    x: trials.map((point) => place(point.value)), y: trials.map(() => name), boxpoints: "all",
    jitter: 0.55, pointpos: 0, width: 0.62, line: { color: own, width: 1.3 },
    fillcolor: faded(own, 0.1), marker: { color: faded(own, 0.75), size: 5.5 }, hoveron: "points",
    customdata: trials.map((point) => point.trial.id),
    text: trials.map(({ value, trial }) =>
      `${format(value, unit)}<br>boot ${trial.boot}, position ${trial.position}`),
    hovertemplate: "<b>%{y}</b><br>%{text}<extra></extra>",
  };
}

function openOnClick(chart) {
  chart.removeAllListeners?.("plotly_click");
  chart.on("plotly_click", (event) => {
    const trial = event.points[0]?.customdata;
    if (trial) location.hash = `trial-${trial}`;
  });
}
