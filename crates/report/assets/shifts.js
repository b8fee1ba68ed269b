// SPDX-License-Identifier: GPL-2.0-only
// The shift function: how far each contestant is from the baseline at each quantile.
"use strict";

// From here on a picture has a scale of ratios, on which double and half are equally far from 1.
const WIDE_PERCENT = 60;

// Below a thousandth of the baseline the scale ends.
const LEAST_RATIO = 1e-3;

// The shifts of the distribution that the other charts show; only headline ones have them.
function shiftsOf(chosen) {
  return cell().shifts.find((it) => it.name === chosen?.name && it.group === chosen?.group);
}

function drawShift() {
  const found = shiftsOf(distribution());
  const has = (index) => found?.contestants[index].some(Boolean);
  const shown = shownContestants().filter(has);
  if (shown.length === 0) return draw("shift", []);
  const scale = shiftScale(shown.flatMap((index) => found.contestants[index].filter(Boolean)));
  const last = data.shift_quantiles.length - 1;
  const zero = {
    type: "scatter", mode: "lines", x: [0, last], y: [scale.zero, scale.zero], hoverinfo: "skip",
    line: { color: contestantColour(data.contestants.indexOf(data.baseline)), width: 1.2 },
  };
  caption("shift", "Shift by quantile", `${distributionLabel(found)} against ${data.baseline}`);
  byId("figure-shift").querySelector("figcaption").textContent = shiftCaption(found);
  draw("shift", [zero, ...shown.flatMap((index) => shiftLines(index, found, scale))], {
    height: 400,
    xaxis: axis({ tickvals: [...data.shift_quantiles.keys()], range: [-0.4, last + 0.4],
      ticktext: data.shift_quantiles.map(quantileName) }),
    yaxis: scale.axis,
  });
  byId("chart-shift").numbers = () => shiftNumbers(found, shown);
}

function quantileName(quantile) {
  return `p${Number((100 * quantile).toFixed(3))}`;
}

// Percent, on a scale of ratios where they are large; nanoseconds where the baseline is 0.
function shiftScale(steps) {
  const percents = steps.filter(([percent]) => percent !== null)
    .flatMap(([percent, ends]) => [percent, ...ends ?? []]);
  if (percents.length === 0) {
    const values = steps.flatMap(([, , value, ends]) => [value, ...ends ?? []]);
    const { axis, place } = valueAxis([...values, 0], "nanoseconds");
    return { axis, zero: 0, of: ([, , value, ends]) => [value, ends].flat().map(place) };
  }
  const of = (place) => ([value, ends]) =>
    value === null ? [null] : [value, ends ?? []].flat().map(place);
  if (percents.every((value) => Math.abs(value) <= WIDE_PERCENT)) {
    return { axis: axis({ ticksuffix: " %" }), zero: 0, of: of((value) => value) };
  }
  const ratio = (value) => Math.max(1 + value / 100, LEAST_RATIO);
  return { axis: ratioAxis(percents.map(ratio)), zero: 1, of: of(ratio) };
}

// A logarithmic axis of ratios, with percents at its ticks; how many times where they are large.
function ratioAxis(ratios) {
  const [least, most] = [Math.min(1, ...ratios), Math.max(1, ...ratios)];
  const steps = most / least > 200 ? [1] : [1, 2, 5];
  const ticks = [-3, -2, -1, 0, 1, 2, 3, 4, 5, 6].flatMap((power) =>
    steps.map((step) => step * 10 ** power));
  const words = (tick) => tick > 5 ? `${NUMBERS.plain.format(tick)} ×`
    : tick === 1 ? "0" : percent(100 * (tick - 1));
  return axis({ type: "log", tickvals: ticks, ticktext: ticks.map(words) });
}

function shiftLines(index, found, scale) {
  const steps = [...found.contestants[index].entries()]
    .filter(([, step]) => step && scale.of(step)[0] !== null);
  if (steps.length === 0) return [];
  const own = contestantColour(index);
  const x = steps.map(([place]) => place);
  const side = (end) => ({
    type: "scatter", mode: "lines", x, line: { width: 0, color: own }, hoverinfo: "skip",
    y: steps.map(([, step]) => scale.of(step)[end] ?? scale.of(step)[0]),
  });
  const marked = steps.map(([, step]) => isMarked(step));
  return [side(1), { ...side(2), fill: "tonexty", fillcolor: faded(own, 0.13) }, {
    type: "scatter", mode: "lines+markers", name: plain(data.contestants[index]),
    x, y: steps.map(([, step]) => scale.of(step)[0]),
    line: { color: own, width: 2, dash: dash(index) },
    marker: { color: own, size: marked.map((it) => it ? 8 : 5),
      symbol: marked.map((it) => it ? "circle" : "circle-open") },
    text: steps.map(([place, step]) => shiftWords(place, step)),
    hovertemplate: `<b>${plain(data.contestants[index])}</b><br>%{text}<extra></extra>`,
  }];
}

// Corrected for all comparisons in the picture.
function isMarked([, , , , p]) {
  return p !== null && p <= 0.05;
}

function shiftWords(place, [ratio, ratioEnds, value, ends, p]) {
  const signed = (value) => value > 0 ? `+${format(value, "nanoseconds")}`
    : format(value, "nanoseconds");
  const range = (ends, words) => ends ? ` [${ends.map(words).join(", ")}]` : "";
  const relative = ratio === null ? "" : `${percent(ratio)}${range(ratioEnds, percent)}, `;
  const chance = p === null ? "" : `<br>corrected p ${p < 0.001 ? "< 0.001" : `= ${p}`}`;
  const name = quantileName(data.shift_quantiles[place]);
  return `${name}: ${relative}${signed(value)}${range(ends, signed)}${chance}`;
}

function shiftCaption(found) {
  const exact = "The clock is virtual: every trial is exact, trials differ by their seed only, " +
    "and a band is the 95 % interval over seeds. ";
  const noisy = "Bands are 95 % intervals: a bootstrap of boots, then of trials within them. ";
  const marks = found.can_claim
    ? `A filled point is significant: p below 5 %, corrected for all ` +
      `${found.comparisons} comparisons of this picture (Holm).`
    : `No point is filled: ${found.comparisons} comparisons need more trials for any claim.`;
  return "The Hodges–Lehmann shift of each quantile over trials; above the line is later. " +
    (cell().clock === "virtual" ? exact : noisy) + marks;
}

// The numbers of the picture, for a spreadsheet.
function shiftNumbers(found, shown) {
  const head = ["contestant", "quantile", "shift_percent", "low_percent", "high_percent",
    "shift_ns", "low_ns", "high_ns", "p_corrected"];
  const line = (index) => ([place, [ratio, ratioEnds, value, ends, p]]) => [
    data.contestants[index], data.shift_quantiles[place], ratio, ratioEnds?.[0], ratioEnds?.[1],
    value, ends?.[0], ends?.[1], p,
  ];
  const steps = (index) => [...found.contestants[index].entries()].filter(([, step]) => step);
  return [head, ...shown.flatMap((index) => steps(index).map(line(index)))];
}
