// SPDX-License-Identifier: GPL-2.0-only
// What a reader would do. The test adds this to the page and reads `data-seen` afterwards.
"use strict";
const pause = (ms) => new Promise((done) => setTimeout(done, ms));
async function seeAll() {
  while (!document.body.dataset.ready) await pause(50);
  while (!document.body.dataset.drawn) {
    for (const figure of document.querySelectorAll("figure")) {
      figure.scrollIntoView();
      await pause(50);
    }
  }
  document.getElementById("figure-trials").scrollIntoView();
  await pause(200);
}
addEventListener("load", () => seeAll().then(() => {
  const seen = [];
  const note = (name, value) => seen.push(`${name}=${value}`);
  const charts = () => [...document.querySelectorAll(".js-plotly-plot")].filter((chart) =>
    chart.querySelector(".main-svg"));
  note("charts", charts().length);
  note("boxes", document.querySelectorAll("#chart-trials .boxlayer .trace").length);
  note("outlines", document.querySelectorAll("#chart-histogram .scatterlayer .trace").length);
  note("slices", document.querySelectorAll("#chart-timeline .scatterlayer .trace").length);
  note("savers", document.querySelectorAll(".save").length ===
    document.querySelectorAll("figure.drawn, .figures figure, #timeline figure").length);
  const drawn = document.querySelector("figure.drawn");
  note("csv", drawn.dataset.csv.split("\n").length > 3);
  note("svg", new DOMParser().parseFromString(drawnSvg(drawn.querySelector("svg")),
    "image/svg+xml").querySelectorAll("circle").length > 2);
  note("chart-csv", chartCsv(document.getElementById("chart-trials")).split("\n").length > 20);
  note("overflow", document.documentElement.scrollWidth > innerWidth);
  document.querySelector(".chip").click();
  note("boxes-after-chip", document.querySelectorAll("#chart-trials .boxlayer .trace").length);
  const pick = document.getElementById("pick-cell");
  pick.value = "5";
  pick.dispatchEvent(new Event("change"));
  note("measure", document.getElementById("pick-measure").value);
  note("subject", document.querySelector("#figure-switches h3 small:last-child").textContent);
  note("ramp-hidden", document.getElementById("figure-ramp").hidden);
  const filter = document.getElementById("trial-filter");
  filter.value = "ejected";
  filter.dispatchEvent(new Event("input"));
  note("filtered", document.querySelectorAll("#trial-table tbody tr").length);
  document.querySelector("#trial-table .link").click();
  setTimeout(() => {
    note("address", location.hash.startsWith("#trial-"));
    note("opened", document.querySelectorAll("#trial-table tr.details").length);
    note("reason", document.querySelector("#trial-table tr.details").textContent.includes("stall"));
    document.querySelector(".zoom button").click();
    note("injected", document.querySelectorAll("img, [onerror]").length +
      document.scripts.length - 5);
    document.body.setAttribute("data-seen", seen.join(" "));
  }, 300);
}));
