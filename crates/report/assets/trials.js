// SPDX-License-Identifier: GPL-2.0-only
// The table of all trials: filter, sort, details, and an address for each.
"use strict";

// The number of rows at first, and of further rows on request: thousands at once would make the
// page slow.
const FIRST_ROWS = 24;
const MORE_ROWS = 200;

// The position of a linked trial among the rows that are made.
const ROWS_BEFORE = 8;

// Rows `from` to `to` of the sorted trials are made.
const trialView = {
  filter: "", sort: "position", down: false, from: 0, to: FIRST_ROWS, open: null,
};

const TRIAL_COLUMNS = [
  ["id", "trial"], ["contestant", "contestant"], ["cell", "cell"], ["outcome", "outcome"],
  ["boot", "boot"], ["boot_position", "in boot"], ["block", "block"], ["position", "position"],
  ["seed", "seed"], ["key", "first headline measure"],
];

// The table's text of each trial, made once.
let trialRows = [];

function makeTrialRows() {
  // The first headline measure of a cell, and where its trials stand in it.
  const keys = data.cells.map((own) => own.rows.find((row) => row.headline) ?? own.rows[0]);
  const places = data.cells.map((own) => new Map(own.trials.map((trial, at) => [trial, at])));
  trialRows = data.trials.map((trial, place) => {
    const own = keys[trial.cell];
    const at = places[trial.cell]?.get(place);
    const key = own?.values?.[at] ?? null;
    return {
      ...trial, place, at, contestant: data.contestants[trial.contestant],
      cell: data.cells[trial.cell]?.name ?? "", key: key ?? -1,
      number: key === null ? "" : format(key, own.unit),
      words: key === null ? trial.reason : own.label,
    };
  });
}

// From the first row again.
function fromFirst() {
  [trialView.from, trialView.to] = [0, FIRST_ROWS];
}

function watchTrials() {
  byId("trial-filter").oninput = (event) => {
    trialView.filter = event.target.value;
    fromFirst();
    drawTrials();
  };
  byId("trial-table").onkeydown = (event) => { if (event.key === "Escape") closeTrial(); };
  byId("trial-more").onclick = () => { trialView.to += MORE_ROWS; drawTrials(); };
  byId("trial-before").onclick = () => {
    trialView.from = Math.max(trialView.from - MORE_ROWS, 0);
    drawTrials();
  };
}

function matchingTrials() {
  const words = trialView.filter.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (it) => {
    const text = `${it.id} ${it.contestant} ${it.cell} ${it.outcome} ${it.words}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const order = trialView.down ? -1 : 1;
  const compare = (a, b) => {
    const [x, y] = [a[trialView.sort], b[trialView.sort]];
    return order * (typeof x === "number" ? x - y : x.localeCompare(y, "en", { numeric: true }));
  };
  return trialRows.filter(matches).sort((a, b) => compare(a, b) || a.position - b.position);
}

// Makes the table again; the focus moves to the new button.
function drawTrials() {
  if (trialRows.length === 0) makeTrialRows();
  const held = document.activeElement?.dataset.held;
  const matching = matchingTrials();
  const shown = matching.slice(trialView.from, trialView.to);
  const body = element("tbody", {}, ...shown.flatMap(trialRow));
  byId("trial-table").replaceChildren(trialHead(), body);
  const part = shown.length === matching.length ? ""
    : `, ${trialView.from + 1} to ${trialView.from + shown.length} shown`;
  byId("trial-count").textContent = `${matching.length} of ${trialRows.length} trials${part}`;
  offer("trial-before", trialView.from, "before");
  offer("trial-more", matching.length - trialView.from - shown.length, "more");
  hold(held);
}

function offer(id, left, word) {
  byId(id).hidden = left <= 0;
  byId(id).textContent = `Show ${Math.min(left, MORE_ROWS)} ${word}`;
}

function hold(name) {
  const buttons = [...byId("trial-table").querySelectorAll("[data-held]")];
  buttons.find((button) => name && button.dataset.held === name)?.focus({ preventScroll: true });
}

function trialHead() {
  const heads = TRIAL_COLUMNS.map(([name, title]) => {
    const sorted = trialView.sort === name ? (trialView.down ? "descending" : "ascending") : "none";
    const button = element("button", { type: "button", "data-held": `sort ${name}`,
      onclick: () => sortTrials(name) }, title);
    return element("th", { scope: "col", "aria-sort": sorted }, button);
  });
  return element("thead", {}, element("tr", {}, ...heads));
}

function sortTrials(name) {
  trialView.down = trialView.sort === name && !trialView.down;
  trialView.sort = name;
  fromFirst();
  drawTrials();
}

function trialRow(it) {
  const open = trialView.open === it.id;
  const link = element("button", { type: "button", className: "link", "aria-expanded": String(open),
    "data-held": `trial ${it.id}`, onclick: () => open ? closeTrial() : openTrial(it.id) },
  it.id.slice(0, 8));
  const mark = element("span", { className: it.outcome === "ok" ? "" : "outcome" }, it.outcome);
  const cell = element("td", { className: "named", title: it.cell }, it.cell);
  const numbers = [it.boot, it.boot_position, it.block, it.position, it.seed].map(String);
  const cells = [link, it.contestant, cell, mark, ...numbers].map((content) =>
    content === cell ? cell : element("td", {}, content));
  const row = element("tr", { id: `trial-${it.id}`, className: open ? "open" : "" }, ...cells,
    element("td", { className: it.outcome === "ok" ? "cut" : "wrap", title: it.words },
      element("b", {}, it.number), ` ${it.words}`));
  return open ? [row, trialDetails(it)] : [row];
}

function trialDetails(it) {
  const trial = data.trials[it.place];
  const own = data.cells[trial.cell];
  const numbers = own.rows.filter((row) => typeof row.values?.[it.at] === "number").map((row) =>
    element("div", {}, element("dt", {}, row.label),
      element("dd", {}, format(row.values[it.at], row.unit))));
  const environment = element("a", { href: `#environment-${trial.environment}` },
    `environment ${trial.environment + 1}`);
  const date = new Date(trial.started * 1000).toISOString().slice(0, 19);
  const started = trial.started > 0 ? `, started ${date}Z` : "";
  const notes = trial.notes.map((note) => element("p", {}, note));
  const reason = trial.reason ? [element("p", {}, `${trial.outcome}: ${trial.reason}`)] : [];
  const about = element("p", {}, `Trial ${it.id} in `, environment,
    `, ${trial.wall_ms} ms of host time${started}.`);
  const field = element("td", { colSpan: TRIAL_COLUMNS.length }, about, ...reason, ...notes,
    element("dl", {}, ...numbers));
  return element("tr", { className: "details" }, field);
}

function openTrial(id) {
  location.hash = `trial-${id}`;
}

// Without following the address, which would scroll away from the row.
function closeTrial() {
  const id = trialView.open;
  if (id === null) return;
  history.pushState(null, "", "#trials");
  openAddressedTrial();
  hold(`trial ${id}`);
}

// Opens the trial that the address names, wherever the filter and the sorting had put it.
function openAddressedTrial() {
  const id = /^#trial-([0-9a-f]+)$/.exec(location.hash)?.[1];
  const known = trialRows.some((it) => it.id === id);
  if (!known && trialView.open === null) return;
  trialView.open = known ? id : null;
  if (known) {
    const place = () => matchingTrials().findIndex((it) => it.id === id);
    if (place() < 0) trialView.filter = byId("trial-filter").value = "";
    showPlace(place());
  }
  drawTrials();
  if (!known) return;
  byId(`trial-${id}`).scrollIntoView({ block: "center" });
  hold(`trial ${id}`);
}

// Rows around a place, unless it is among those that are made.
function showPlace(place) {
  if (place >= trialView.from && place < trialView.to) return;
  trialView.from = Math.max(place - ROWS_BEFORE, 0);
  trialView.to = trialView.from + FIRST_ROWS;
}
