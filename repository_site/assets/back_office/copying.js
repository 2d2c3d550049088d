// Buttons that copy the text of another element. Without this script, users can select the text.
"use strict";

for (const button of document.querySelectorAll("[data-copies]")) {
  const source = document.getElementById(button.dataset.copies);
  const label = button.querySelector(".access-copy-label");
  const usual = label.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    if (await copy(source)) {
      label.textContent = button.dataset.done;
      setTimeout(() => (label.textContent = usual), 2000);
    }
  });
}

async function copy(source) {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(source.textContent);
      return true;
    } catch {
      // The browser has refused: leave the text selected for the user to copy.
    }
  }
  const selection = window.getSelection();
  selection.removeAllRanges();
  const range = document.createRange();
  range.selectNodeContents(source);
  selection.addRange(range);
  // The clipboard API needs https; over http, use the older command.
  return document.execCommand("copy");
}
