// SPDX-License-Identifier: GPL-2.0-only
// The table of all trials: filter, sort, details, and an address for each.
"use strict";

// So many rows are made at once; thousands would make the page slow.
const FIRST_ROWS = 24;

const trialView = { filter: "", sort: "position", down: false, all: false, open: null };

const TRIAL_COLUMNS = [
  ["id", "trial"], ["contestant", "contestant"], ["cell", "cell"], ["outcome", "outcome"],
  ["boot", "boot"], ["boot_position", "in boot"], ["block", "block"], ["position", "position"],
  ["seed", "seed"], ["key", "first headline measure"],
];

// The first headline number of a trial, as its cell's table names it.
function keyNumber(place) {
  const trial = data.trials[place];
  const own = data.cells[trial.cell];
  const first = own.rows.find((row) => row.headline) ?? own.rows[0];
  const value = first?.values?.[own.trials.indexOf(place)];
  return value === null || value === undefined ? null : { value, row: first };
}

// What the table shows of each trial, made once.
const trialRows = data.trials.map((trial, place) => {
  const key = keyNumber(place);
  return {
    ...trial, place, contestant: data.contestants[trial.contestant],
    cell: data.cells[trial.cell]?.name ?? "", key: key?.value ?? -1,
    number: key ? format(key.value, key.row.unit) : "", words: key ? key.row.label : trial.reason,
  };
});

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

// The table is made anew; who held one of its buttons holds the new one.
function drawTrials() {
  const held = document.activeElement?.dataset.held;
  const matching = matchingTrials();
  const shown = trialView.all ? matching : matching.slice(0, FIRST_ROWS);
  const body = element("tbody", {}, ...shown.flatMap(trialRow));
  byId("trial-table").replaceChildren(trialHead(), body);
  byId("trial-count").textContent = `${matching.length} of ${trialRows.length} trials`;
  byId("trial-more").hidden = shown.length === matching.length;
  byId("trial-more").textContent = `Show all ${matching.length}`;
  hold(held);
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
  drawTrials();
}

function trialRow(it) {
  const open = trialView.open === it.id;
  const link = element("button", { type: "button", className: "link", "aria-expanded": String(open),
    "data-held": `trial ${it.id}`, onclick: () => open ? closeTrial() : openTrial(it.id) },
  it.id.slice(0, 8));
  const mark = element("span", { className: it.outcome === "ok" ? "" : "outcome" }, it.outcome);
  const cells = [
    link, it.contestant, it.cell, mark, it.boot, it.boot_position, it.block, it.position, it.seed,
  ].map((content) => element("td", {}, content instanceof Node ? content : String(content)));
  const row = element("tr", { id: `trial-${it.id}`, className: open ? "open" : "" }, ...cells,
    element("td", { className: "wrap" }, element("b", {}, it.number), ` ${it.words}`));
  return open ? [row, trialDetails(it)] : [row];
}

function trialDetails(it) {
  const trial = data.trials[it.place];
  const own = data.cells[trial.cell];
  const at = own.trials.indexOf(it.place);
  const numbers = own.rows.filter((row) => typeof row.values?.[at] === "number").map((row) =>
    element("div", {}, element("dt", {}, row.label),
      element("dd", {}, format(row.values[at], row.unit))));
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
    const place = matchingTrials().findIndex((it) => it.id === id);
    if (place < 0) trialView.filter = byId("trial-filter").value = "";
    trialView.all ||= place < 0 || place >= FIRST_ROWS;
  }
  drawTrials();
  if (!known) return;
  byId(`trial-${id}`).scrollIntoView({ block: "center" });
  hold(`trial ${id}`);
}
