// SPDX-License-Identifier: GPL-2.0-only
// Every picture can be saved: as SVG or PNG with its colours, and its numbers as CSV.
"use strict";

// The style properties of a picture, because a saved one has no style sheet.
const LOOK = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor"];

// Points of a PNG for each of the page, so that it is sharp on paper.
const FINE = 2;

function saveText(name, type, text) {
  saveBlob(name, new Blob([text], { type }));
}

function saveBlob(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

function drawnSvg(svg) {
  const copy = svg.cloneNode(true);
  const [originals, copies] = [svg, copy].map((it) => it.querySelectorAll("*"));
  originals.forEach((original, at) => {
    const look = getComputedStyle(original);
    LOOK.forEach((name) => copies[at].setAttribute(name, look.getPropertyValue(name)));
  });
  const { width, height } = svg.viewBox.baseVal;
  copy.setAttribute("xmlns", "http:" + "//www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.style.background = colour("paper");
  return new XMLSerializer().serializeToString(copy);
}

// A spreadsheet would take a name that begins with = for a formula. Numbers stay numbers.
function spreadsheetCell(value) {
  const text = value === null || value === undefined ? "" : String(value);
  const isNumber = text.trim() !== "" && Number.isFinite(Number(text));
  return isNumber ? text : text.replace(/(^|[;\t\r\n])(?= *[=+@\t\r＝＋－＠-])/g, "$1'");
}

function quoted(value) {
  const text = spreadsheetCell(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// A chart's own numbers where it has some; else its points: each with its line's name, its place,
// and its tooltip. Bands are the lines without a name of their own.
function chartCsv(chart) {
  const lines = chart.numbers?.() ?? pointsOf(chart.traces());
  return lines.map((line) => line.map(quoted).join(",")).join("\n") + "\n";
}

function pointsOf(traces) {
  const lines = [["series", "x", "y", "text"]];
  for (const trace of traces) {
    const named = trace.hovertemplate?.match(/<b>(.*?)<\/b>/)?.[1];
    const name = trace.name ?? (named && !named.startsWith("%") ? named : "");
    const words = Array.isArray(trace.text) ? trace.text : [];
    [...trace.x ?? []].forEach((x, at) => {
      const text = String(words[at] ?? "").replaceAll("<br>", ", ");
      lines.push([name, x, trace.y?.[at], text]);
    });
  }
  return lines;
}

function fileName(figure) {
  const title = figure.dataset.title ?? figure.querySelector("h3")?.textContent ?? figure.id;
  const words = `${document.title.split(" · ")[0]} ${title}`;
  return words.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 80);
}

async function saveChart(figure, chart, format) {
  await drawnChart(chart);
  const picture = standalone(figure, chart);
  const { width, height } = picture.layout;
  const scale = format === "png" ? FINE : 1;
  Plotly.downloadImage(picture, { format, width, height, scale, filename: fileName(figure) });
}

// A saved chart has no page around it, so it gets a title and a legend.
function standalone(figure, chart) {
  const { width, height } = chart.getBoundingClientRect();
  const { layout } = chart;
  const isLine = ({ name, type }) => Boolean(name) && type === "scatter";
  const lines = layout.showlegend ? [] : chart.data.filter(isLine);
  const heading = figure.querySelector("h3") ?? figure.closest("section").querySelector("h2");
  const words = [...heading.childNodes].map((it) => it.textContent).join(" · ");
  const above = layout.margin.t + 34;
  const below = lines.length > 0 ? 34 + 24 * Math.ceil(lines.length / 4) : 0;
  const legend = lines.length > 0 ? { orientation: "h", x: 0, y: -0.14, yanchor: "top" } : {};
  return {
    data: lines.length > 0
      ? chart.data.map((trace) => ({ ...trace, showlegend: isLine(trace) })) : chart.data,
    layout: {
      ...layout, width, height: height + 34 + below, paper_bgcolor: colour("paper"),
      title: { text: plain(words), x: 0.02, y: 1, yanchor: "top", pad: { t: 14 },
        font: { size: 14, color: colour("ink") } },
      showlegend: layout.showlegend || lines.length > 0, legend: { ...layout.legend, ...legend },
      margin: { ...layout.margin, t: above },
    },
  };
}

function saveSvg(figure) {
  const chart = figure.querySelector(".chart");
  if (chart) return saveChart(figure, chart, "svg");
  saveText(`${fileName(figure)}.svg`, "image/svg+xml", drawnSvg(figure.querySelector("svg")));
}

async function savePng(figure) {
  const chart = figure.querySelector(".chart");
  if (chart) return saveChart(figure, chart, "png");
  saveBlob(`${fileName(figure)}.png`, await pngOf(figure.querySelector("svg")));
}

// A drawn picture as points.
async function pngOf(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(drawnSvg(svg))}`;
  await image.decode();
  const { width, height } = svg.viewBox.baseVal;
  const canvas = element("canvas", { width: FINE * width, height: FINE * height });
  const pen = canvas.getContext("2d");
  pen.fillStyle = colour("paper");
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((made) => canvas.toBlob(made, "image/png"));
}

function saveCsv(figure) {
  const chart = figure.querySelector(".chart");
  saveText(`${fileName(figure)}.csv`, "text/csv", chart ? chartCsv(chart) : figureCsv(figure));
}

// Long CSV texts are packed with the page's numbers.
function figureCsv(figure) {
  return figure.dataset.csv ?? data.numbers[figure.dataset.numbers];
}

// Numbers follow the page, and a chart that the chosen measure has nothing for is hidden: then
// there is nothing to save.
function isFilled(figure) {
  const chart = figure.querySelector(".chart");
  return Boolean(data) && !figure.closest("[hidden]") && (!chart || Boolean(chart.traces));
}

function savers() {
  for (const row of document.querySelectorAll("figure > .save")) {
    const figure = row.parentElement;
    const button = (title, save) => {
      const onclick = () => isFilled(figure) ? save(figure) : undefined;
      return element("button", { type: "button", title: `Save as ${title}`, onclick }, title);
    };
    row.replaceChildren(button("SVG", saveSvg), button("PNG", savePng), button("CSV", saveCsv));
  }
}
