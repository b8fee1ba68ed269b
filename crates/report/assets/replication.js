// SPDX-License-Identifier: GPL-2.0-only
// The replication's page: buttons hide and show claims by their verdict.
"use strict";

function watchVerdicts() {
  const chips = [...document.querySelectorAll(".chip")];
  const show = () => {
    const shown = chips.filter((chip) => chip.getAttribute("aria-pressed") === "true");
    const verdicts = new Set(shown.map((chip) => chip.dataset.verdict));
    for (const item of document.querySelectorAll("tr[data-verdict], article[data-verdict]")) {
      item.hidden = !verdicts.has(item.dataset.verdict);
    }
  };
  for (const chip of chips) {
    chip.onclick = () => {
      chip.setAttribute("aria-pressed", chip.getAttribute("aria-pressed") !== "true");
      show();
    };
  }
}

watchCopies();
watchVerdicts();
