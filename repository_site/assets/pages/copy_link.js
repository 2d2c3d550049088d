// The button that copies a link to the page. Members get a permalink, which the API creates; others get the address.
// Without this script, the form shows the permalink on a page of its own.
"use strict";

for (const box of document.querySelectorAll(".copy-link")) {
  const button = box.querySelector("button");
  button.hidden = false;
  if (box instanceof HTMLFormElement) {
    box.addEventListener("submit", (event) => {
      event.preventDefault();
      copy(box, permalink(box));
    });
  } else {
    button.addEventListener("click", () => copy(box, Promise.resolve(box.dataset.address)));
  }
}

async function permalink(form) {
  const { csrfmiddlewaretoken, culture, ...target } = Object.fromEntries(new FormData(form));
  const response = await fetch(form.dataset.api, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRFToken": csrfmiddlewaretoken },
    body: JSON.stringify({ ...target, culture: Number(culture) }),
  });
  if (!response.ok) {
    // The page says why.
    form.submit();
    throw new Error(`The permalink was refused: ${response.status}`);
  }
  return (await response.json()).values[0].url;
}

async function copy(box, address) {
  const status = box.querySelector("[role=status]");
  try {
    // Safari copies only what is promised at once.
    const text = address.then((found) => new Blob([found], { type: "text/plain" }));
    await navigator.clipboard.write([new ClipboardItem({ "text/plain": text })]);
    status.textContent = box.dataset.done;
  } catch {
    // The clipboard needs https and the consent of the browser.
    const found = await address.catch(() => "");
    if (found) show(box, status, found);
  }
}

function show(box, status, address) {
  const field = box.querySelector("input[readonly]") ?? document.createElement("input");
  field.readOnly = true;
  field.className = "link-address";
  field.value = address;
  field.setAttribute("aria-label", box.dataset.failed);
  status.textContent = box.dataset.failed;
  box.append(field);
  field.focus();
  field.select();
}
