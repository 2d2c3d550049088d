// Translates the labels of the theme's scroll bars, which are in English only and appear after this script has run.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const label = { de: "Scrollbarer Inhalt" }[document.documentElement.lang.slice(0, 2)];
  if (label && window.SimpleBar) {
    window.SimpleBar.defaultOptions.ariaLabel = label;
  }
});
