// SPDX-License-Identifier: GPL-2.0-only
// Charts have their place at once and are drawn when a reader comes near them, or prints.
"use strict";

// A window's height above and below the window is near.
const NEAR = { rootMargin: "100% 0px" };

// The size that fits both A4 and Letter, in CSS pixels.
const PAPER_WIDTH = 640;
const PAPER_HEIGHT = 350;

// What to draw, by chart; and the charts that are near.
const waiting = new Map();
const near = new Set();

const chartWatcher = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) near.add(target);
    else near.delete(target);
  }
  if (nextNear()) drawNear();
}, NEAR);

let library = null;

// Charts are as wide as their place; on paper as wide as any paper, and so high that two or more
// share a page.
function sized(settings) {
  if (!isPaper()) return settings;
  const height = Math.min(settings.height, Math.max(PAPER_HEIGHT, 0.6 * settings.height));
  return { ...settings, width: PAPER_WIDTH, height };
}

function isPaper() {
  return document.documentElement.classList.contains("paper");
}

function hasLibrary() {
  return "Plotly" in window;
}

// The library becomes a script when it is unpacked.
function loadLibrary() {
  library ??= unpack("plotly").then((code) => {
    document.head.append(element("script", { textContent: code }));
  });
  return library;
}

// Keeps a chart's place. `traces` gives what is in it, `then` is done when it is drawn.
function place(chart, traces, given, then) {
  const settings = sized(given);
  chart.style.minHeight = `${settings.height}px`;
  chart.traces = traces;
  waiting.set(chart, { settings, then });
  chartWatcher.observe(chart);
  if (near.has(chart) && hasLibrary()) paint(chart);
}

function forget(chart) {
  waiting.delete(chart);
  noteDrawn();
}

function paint(chart) {
  const { settings, then } = waiting.get(chart);
  waiting.delete(chart);
  Plotly.react(chart, chart.traces(), layout(settings), CONFIGURATION);
  then?.(chart);
  noteDrawn();
}

// Tells the page when no chart is waiting.
function noteDrawn() {
  if (waiting.size > 0 || !document.body.dataset.ready || document.body.dataset.drawn) return;
  performance.mark("drawn");
  document.body.dataset.drawn = "true";
}

function nextNear() {
  return [...waiting.keys()].find((chart) => near.has(chart));
}

let drawing = null;

// One chart after the other, so that the page answers in between.
function drawNear() {
  drawing ??= drawOneByOne().finally(() => { drawing = null; });
  return drawing;
}

async function drawOneByOne() {
  await loadLibrary();
  for (let chart = nextNear(); chart; chart = nextNear()) {
    paint(chart);
    await new Promise((done) => setTimeout(done));
  }
}

// The charts in the window now, without waiting for the observer.
function drawSeen() {
  for (const chart of waiting.keys()) {
    const { top, bottom, height } = chart.getBoundingClientRect();
    if (height > 0 && top < innerHeight && bottom > 0) near.add(chart);
  }
  return nextNear() ? drawNear() : undefined;
}

async function drawnChart(chart) {
  await loadLibrary();
  if (waiting.has(chart)) paint(chart);
}

// Paper gets everything unfolded and in paper's colours; afterwards the screen is restored.
function watchPrinter() {
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("main details:not([open])")];
    folded.forEach((details) => { details.open = true; });
    document.documentElement.classList.add("paper");
    drawAgain();
    if (hasLibrary()) [...waiting.keys()].forEach(paint);
  });
  addEventListener("afterprint", () => {
    folded.forEach((details) => { details.open = false; });
    document.documentElement.classList.remove("paper");
    drawAgain();
  });
}

// Charts take their colours when they are drawn: draw again when the colours change.
function watchTheme() {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAgain);
}

function drawAgain() {
  colours.clear();
  if (!data) return;
  drawCharts();
  drawTimeline();
}
