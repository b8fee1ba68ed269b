// SPDX-License-Identifier: GPL-2.0-only
// Puts the page together: selectors, chips, the address, the theme, the printer.
"use strict";

function charts() {
  if (!cell() || !row()) return [];
  return [drawTrialBoxes, drawHistogram, drawShift, drawRamp, drawSwitches, drawShares];
}

function drawCharts() {
  charts().forEach((draw) => draw());
}

function fillCells() {
  const pick = byId("pick-cell");
  const workloads = [...new Set(data.cells.map((cell) => cell.workload))];
  pick.replaceChildren(...workloads.map((workload) => {
    const options = [...data.cells.entries()]
      .filter(([, cell]) => cell.workload === workload)
      .map(([place, cell]) => element("option", { value: place }, cell.label));
    return element("optgroup", { label: workload }, ...options);
  }));
  pick.onchange = () => chooseCell(Number(pick.value));
}

// Keeps the measure over a change of cells where the new one has it.
function chooseCell(place) {
  openCell(place);
  drawCharts();
}

function openCell(place) {
  state.cell = place;
  if (!row()) state.key = (cell().rows.find((row) => row.headline) ?? cell().rows[0])?.key ?? null;
  fillMeasures();
}

function fillMeasures() {
  const pick = byId("pick-measure");
  const option = (row) => element("option", { value: row.key }, row.label);
  const group = (label, rows) =>
    rows.length > 0 ? [element("optgroup", { label }, ...rows.map(option))] : [];
  const headline = cell().rows.filter((row) => row.headline);
  const others = cell().rows.filter((row) => !row.headline);
  pick.replaceChildren(...group("headline", headline), ...group("all others", others));
  pick.value = state.key;
  pick.onchange = () => { state.key = pick.value; defineMeasure(); drawCharts(); };
  defineMeasure();
}

function defineMeasure() {
  const chosen = row();
  const words = { lower: " Lower is better.", higher: " Higher is better." };
  const definition = data.definitions[chosen?.name] ?? "";
  byId("measure-definition").textContent = definition + (words[chosen?.direction] ?? "");
}

function fillChips() {
  const chips = data.contestants.map((name, index) => {
    const className = index > 9 ? `chip ${dash(index)}` : "chip";
    const properties = { type: "button", className, title: name, "aria-pressed": "true" };
    const chip = element("button", properties, element("span", {}, name));
    chip.style.setProperty("--chip", `var(--c${contestantPlace(index)})`);
    chip.onclick = () => toggle(index, chip);
    return chip;
  });
  byId("chips").replaceChildren(...chips);
}

function toggle(index, chip) {
  if (!state.shown.delete(index)) state.shown.add(index);
  chip.setAttribute("aria-pressed", String(state.shown.has(index)));
  drawCharts();
}

// On a phone the answer is the page: the other parts open when they are asked for.
function foldForPhone() {
  if (matchMedia("(max-width: 40rem)").matches) {
    document.querySelectorAll(".part").forEach((part) => { part.open = false; });
  }
  document.documentElement.classList.add("folded-once");
}

// A link into folded text unfolds it.
function unfoldAddressed() {
  const target = addressed();
  const part = target?.querySelector(":scope > .part");
  let folded = Boolean(part && !part.open);
  if (folded) part.open = true;
  for (let at = target; at; at = at.parentElement) {
    if (at instanceof HTMLDetailsElement && !at.open) folded = at.open = true;
  }
  if (folded) target.scrollIntoView();
}

function addressed() {
  return location.hash.length > 1 ? byId(decodeURIComponent(location.hash.slice(1))) : null;
}

// The element that the address names keeps its position while `change` makes room above it, or
// comes into view if it was not there.
function keepAddressed(change) {
  const target = addressed();
  const before = target?.getClientRects()[0]?.top;
  change();
  if (!target) return;
  if (before === undefined) target.scrollIntoView();
  else scrollBy({ top: target.getBoundingClientRect().top - before, behavior: "instant" });
}

function watchSections() {
  const anchors = [...document.querySelectorAll(".contents a")];
  const links = new Map(anchors.map((link) => [link.hash.slice(1), link]));
  const watcher = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      links.forEach((link, id) => id === target.id
        ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current"));
    }
  }, { rootMargin: "-20% 0px -75% 0px" });
  document.querySelectorAll("main > section").forEach((section) => watcher.observe(section));
}

// Everything without numbers works at once; the rest follows when the numbers are
// unpacked, and charts when a reader comes near.
async function start() {
  foldForPhone();
  watchSections();
  watchCopies();
  watchPrinter();
  savers();
  unfoldAddressed();
  try {
    await loadData();
  } catch {
    for (const id of ["pictures", "trials"]) {
      byId(id).append(element("p", {}, "This part needs a browser of 2023 or newer."));
    }
    return;
  }
  keepAddressed(fillPage);
  watchTheme();
  watchTrials();
  addEventListener("hashchange", () => { unfoldAddressed(); openAddressedTrial(); });
  openAddressedTrial();
  await drawSeen();
  performance.mark("ready");
  document.body.dataset.ready = "true";
  noteDrawn();
  // A reader who scrolls soon, or prints, does not wait for the library.
  (window.requestIdleCallback ?? setTimeout)(loadLibrary);
}

function fillPage() {
  drawTrials();
  fillChips();
  if (data.cells.length > 0) {
    fillCells();
    openCell(data.start);
    byId("pick-cell").value = data.start;
    drawCharts();
  }
  if (byId("pick-timeline")) {
    timelineButtons();
    byId("pick-timeline").onchange = drawTimeline;
    drawTimeline();
  }
}

start();
