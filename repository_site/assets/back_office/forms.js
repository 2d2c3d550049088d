// Forms of the back office: label the parts of select2 fields, and submit a form only once.
"use strict";

// Select2 builds its own fields beside a select without a label; give them the label of the select.
function nameParts() {
  for (const select of document.querySelectorAll("select.select2-hidden-accessible")) {
    const label = document.querySelector(`label[for="${select.id}"]`);
    const parts = select.nextElementSibling.querySelectorAll("[role=combobox], [role=textbox], [role=searchbox]");
    for (const part of parts) {
      part.removeAttribute("aria-labelledby");
      part.setAttribute("aria-label", label ? label.textContent.trim() : "");
    }
  }
}

if (window.django && window.django.jQuery) {
  // Run after unfold has built its fields.
  window.django.jQuery(nameParts);
}

// A second click would discard the first response, which may show a token value only once.
const buttons = [...document.querySelectorAll("button[type=submit][form]")];
for (const button of buttons) {
  button.form.addEventListener("submit", () => (button.disabled = true));
}
window.addEventListener("pageshow", () => buttons.forEach((button) => (button.disabled = false)));
