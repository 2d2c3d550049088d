// The theme's scroll bars name what they scroll, in English only. They come once the page is there, and after this.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const label = { de: "Scrollbarer Inhalt" }[document.documentElement.lang.slice(0, 2)];
  if (label && window.SimpleBar) {
    window.SimpleBar.defaultOptions.ariaLabel = label;
  }
});
