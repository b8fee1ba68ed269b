// SPDX-License-Identifier: GPL-2.0-only
// Buttons that copy the command next to them.
function watchCopies() {
  for (const button of document.querySelectorAll(".copy")) {
    button.onclick = () => copy(button.previousElementSibling.textContent).then(() => {
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }
}

// Pages opened from a disk may have no clipboard API; execCommand always works.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
