// SPDX-License-Identifier: GPL-2.0-only
// Puts the page together: selectors, chips, the address, the theme, the printer.
"use strict";

function charts() {
  if (!cell() || !row()) return [];
  const all = [
    drawRuns, drawCurve, drawHistogram, drawShift, drawRamp, drawSwitches, drawShares,
  ];
  return byId("figure-scaling") ? [...all, drawScaling] : all;
}

function drawCharts() {
  charts().forEach((draw) => draw());
}

// The first time one by one, so that the reader can scroll meanwhile.
async function drawFirst() {
  for (const draw of charts()) {
    draw();
    await new Promise((drawn) => setTimeout(drawn));
  }
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
    const properties = { type: "button", className: "chip", title: name, "aria-pressed": "true" };
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

function watchTrials() {
  byId("trial-filter").oninput = (event) => {
    trialView.filter = event.target.value;
    drawTrials();
  };
  byId("trial-table").onkeydown = (event) => { if (event.key === "Escape") closeTrial(); };
  byId("trial-more").onclick = () => { trialView.all = true; drawTrials(); };
  addEventListener("hashchange", followAddress);
}

// A link into folded text unfolds it.
function followAddress() {
  const target = location.hash.length > 1 && byId(decodeURIComponent(location.hash.slice(1)));
  let folded = false;
  for (let at = target; at; at = at.parentElement) {
    if (at instanceof HTMLDetailsElement && !at.open) folded = at.open = true;
  }
  if (folded) target.scrollIntoView();
  openAddressedTrial();
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

// Charts take their colours when they are drawn: draw again when the colours change.
function watchTheme() {
  const again = () => { drawCharts(); drawTimeline(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  matchMedia("print").addEventListener("change", again);
}

// Paper unfolds nothing: everything is printed open, and folded again afterwards.
function watchPrinter() {
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("main details:not([open])")];
    folded.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => {
    folded.forEach((details) => { details.open = false; });
  });
}

// The library is packed; it becomes a script when it is unpacked.
async function loadLibrary() {
  const packed = Uint8Array.from(atob(byId("plotly").textContent), (it) => it.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const code = await new Response(stream).text();
  document.head.append(element("script", { textContent: code }));
}

// Everything but the charts works at once.
function start() {
  watchTrials();
  drawTrials();
  watchSections();
  watchCopies();
  watchPrinter();
  followAddress();
  loadLibrary().then(startCharts, () => {
    byId("pictures").append(element("p", {}, "The charts need a browser of 2023 or newer."));
  });
}

async function startCharts() {
  fillChips();
  if (data.cells.length > 0) {
    fillCells();
    openCell(data.start);
    byId("pick-cell").value = data.start;
    await drawFirst();
  }
  if (byId("pick-timeline")) {
    timelineButtons();
    byId("pick-timeline").onchange = drawTimeline;
    drawTimeline();
  }
  savers();
  watchTheme();
  performance.mark("drawn");
  document.body.dataset.drawn = "true";
}

start();
