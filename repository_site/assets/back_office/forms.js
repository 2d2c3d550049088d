// Forms of the back office: the parts of select2 fields get names, and a form is sent once.
"use strict";

// Select2 builds fields of its own beside a select and gives them no name; they get that of the select's label.
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
  // After those that unfold has told jQuery to build when the page is there.
  window.django.jQuery(nameParts);
}

// A second click would throw away the answer to the first, and with it what is shown once only.
const buttons = [...document.querySelectorAll("button[type=submit][form]")];
for (const button of buttons) {
  button.form.addEventListener("submit", () => (button.disabled = true));
}
window.addEventListener("pageshow", () => buttons.forEach((button) => (button.disabled = false)));
