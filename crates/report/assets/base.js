// SPDX-License-Identifier: GPL-2.0-only
// Shared by all scripts of the page: the data, the state, elements, numbers, colours.
"use strict";

// The data of the charts and of the table of trials; set by `loadData`.
let data = null;

// The reader's choices: a cell, a measure of it, and the visible contestants.
const state = { cell: 0, key: null, shown: new Set() };

// Large data is compressed in the page; every browser can unpack it since 2023.
async function unpack(id) {
  const letters = atob(byId(id).textContent);
  const packed = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at += 1) packed[at] = letters.charCodeAt(at);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

async function loadData() {
  data = JSON.parse(await unpack("data"));
  data.trials = data.trials.map(namedTrial);
  state.shown = new Set(data.contestants.keys());
}

// Trials are rows without names, and refer to their texts by index.
function namedTrial([
  id, cell, contestant, outcome, reason, [boot, block, position], seed, boot_position, environment,
  [wall_ms, started], notes,
]) {
  return {
    id, cell, contestant, outcome, boot, block, position, seed, boot_position, environment, wall_ms,
    started, reason: data.texts[reason], notes: notes.map((note) => data.texts[note]),
  };
}

function byId(id) {
  return document.getElementById(id);
}

// Builds an element. Text always goes in as text, never as markup: names are untrusted.
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

// The factor and the unit that keep a number short, by the steps that the tables use.
function scale(value, unit) {
  const [begins, units] = data.scales;
  const [, steps] = units.find(([known]) => known === unit);
  return steps.find(([factor]) => Math.abs(value) >= factor * begins) ?? steps.at(-1);
}

// Made once, because making a formatter is slow.
const NUMBERS = {
  plain: new Intl.NumberFormat("en"),
  three: new Intl.NumberFormat("en", {
    minimumSignificantDigits: 3, maximumSignificantDigits: 3,
  }),
  tenths: new Intl.NumberFormat("en", { maximumFractionDigits: 1 }),
  whole: new Intl.NumberFormat("en", { maximumFractionDigits: 0 }),
};

// Three significant digits and a unit, as in the tables.
function format(value, unit) {
  if (value === null || value === undefined) return "–";
  const [factor, suffix] = scale(value, unit);
  const scaled = value / factor;
  const whole = unit === "count" && Number.isInteger(scaled) && Math.abs(scaled) < 1e6;
  const digits = (whole || scaled === 0 ? NUMBERS.plain : NUMBERS.three).format(scaled);
  return suffix ? `${digits} ${suffix}` : digits;
}

function percent(value) {
  if (value === null || value === undefined) return "";
  const sign = value > 0 ? "+" : value < 0 ? "−" : "";
  const size = Math.abs(value);
  return `${sign}${(size < 99.95 ? NUMBERS.tenths : NUMBERS.whole).format(size)} %`;
}

// Colours come from the style sheet, so that charts follow light, dark and paper. They are kept
// until one of these changes.
const colours = new Map();

function colour(name) {
  if (!colours.has(name)) {
    const style = getComputedStyle(document.documentElement);
    colours.set(name, style.getPropertyValue(`--${name}`).trim());
  }
  return colours.get(name);
}

// The baseline has the text's colour; the others take turns.
function contestantPlace(index) {
  const place = data.contestants[0] === data.baseline ? index : index + 1;
  return place === 0 ? 0 : ((place - 1) % 9) + 1;
}

function contestantColour(index) {
  return colour(`c${contestantPlace(index)}`);
}

// Task groups have colours of their own, so that they are not taken for contestants.
function groupColour(place) {
  return colour(`g${(place % 6) + 1}`);
}

// From the tenth contestant on, lines are dashed, so that colours may repeat.
function dash(index) {
  return index > 9 ? (index > 18 ? "dot" : "dash") : "solid";
}

// A colour with transparency: charts do not support color-mix.
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
