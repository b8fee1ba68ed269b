// SPDX-License-Identifier: GPL-2.0-only
// What all parts of the page's script share: the data, the state, elements, numbers, colours.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);

// Trials come as rows without names, and name their texts by place.
data.trials = data.trials.map(([
  id, cell, contestant, outcome, reason, [boot, block, position], seed, boot_position, environment,
  [wall_ms, started], notes,
]) => ({
  id, cell, contestant, outcome, boot, block, position, seed, boot_position, environment, wall_ms,
  started, reason: data.texts[reason], notes: notes.map((note) => data.texts[note]),
}));

// What the reader has chosen: a cell, a measure of it, and which contestants are shown.
const state = { cell: 0, key: null, shown: new Set(data.contestants.keys()) };

function byId(id) {
  return document.getElementById(id);
}

// Builds an element. Text always goes in as text, never as markup: names come from strangers.
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made && !name.includes("-")) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function cell() {
  return data.cells[state.cell];
}

function row(key = state.key, of = cell()) {
  return of.rows.find((row) => row.key === key);
}

// A row of the current cell by measure and group.
function rowOf(name, group, of = cell()) {
  return of.rows.find((row) => row.name === name && row.group === group);
}

const SCALES = {
  nanoseconds: [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]],
  per_second: [[1e6, "M/s"], [1e3, "k/s"], [1, "/s"]],
  count: [[1e9, "G"], [1e6, "M"], [1, ""]],
  ratio: [[1, ""]],
};

// The factor and the unit that keep a number short.
function scale(value, unit) {
  const scales = SCALES[unit] ?? SCALES.ratio;
  return scales.find(([factor]) => Math.abs(value) >= factor * 0.9995) ?? scales.at(-1);
}

// Three significant digits and a unit, as in the tables.
function format(value, unit) {
  if (value === null || value === undefined) return "–";
  const [factor, suffix] = scale(value, unit);
  const scaled = value / factor;
  const whole = unit === "count" && Number.isInteger(scaled) && Math.abs(scaled) < 1e6;
  const three = { minimumSignificantDigits: 3, maximumSignificantDigits: 3 };
  const digits = scaled.toLocaleString("en", whole || scaled === 0 ? {} : three);
  return suffix ? `${digits} ${suffix}` : digits;
}

function percent(value) {
  if (value === null || value === undefined) return "";
  const sign = value > 0 ? "+" : value < 0 ? "−" : "";
  const size = Math.abs(value);
  return `${sign}${size.toLocaleString("en", { maximumFractionDigits: size < 99.95 ? 1 : 0 })} %`;
}

// Colours come from the style sheet, so that charts follow light, dark and paper.
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// The baseline has the ink's colour; the others take turns.
function contestantPlace(index) {
  const place = data.contestants[0] === data.baseline ? index : index + 1;
  return place === 0 ? 0 : ((place - 1) % 9) + 1;
}

function contestantColour(index) {
  return colour(`c${contestantPlace(index)}`);
}

// Task groups have colours of their own, so that nobody takes them for contestants.
function groupColour(place) {
  return colour(`g${(place % 6) + 1}`);
}

// From the tenth contestant on, lines are dashed, so that colours may repeat.
function dash(index) {
  return index > 9 ? (index > 18 ? "dot" : "dash") : "solid";
}

// A colour with transparency: charts know no color-mix.
function faded(hex, alpha) {
  const channel = (at) => parseInt(hex.slice(at, at + 2), 16);
  return `rgba(${channel(1)},${channel(3)},${channel(5)},${alpha})`;
}

// Chart texts may hold markup; names must not.
function plain(text) {
  return String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function shownContestants() {
  return [...data.contestants.keys()].filter((index) => state.shown.has(index));
}
