/* Tries calls, finds operations, and opens the operation that the address names. The page can be read without it. */
"use strict";

const page = document.body.dataset;
const token = document.getElementById("token");
const SAFE = ["GET", "HEAD"];

function cookie(name) {
  const found = document.cookie.split("; ").find((each) => each.startsWith(`${name}=`));
  return found ? decodeURIComponent(found.slice(name.length + 1)) : "";
}

/** Returns the address and the fetch options of a form; null if the address is incomplete. */
function requestOf(form) {
  const names = { collectionId: page.collection, storageId: page.storage };
  const query = new URLSearchParams();
  const headers = {};
  for (const field of form.querySelectorAll("[data-name]")) {
    const { name, place } = field.dataset;
    if (place === "path") names[name] = field.value.trim();
    else if (field.value !== "" && place === "query") query.append(name, field.value);
    else if (field.value !== "" && place === "header") headers[name] = field.value;
  }
  let complete = true;
  const path = form.dataset.path.replace(/\{(\w+)\}/g, (whole, name) => {
    if (!names[name]) complete = false;
    return encodeURIComponent(names[name] || "");
  });
  if (!complete) return null;
  const method = form.dataset.method;
  const options = { method, headers, credentials: "same-origin", cache: "no-store" };
  if (token.value.trim()) {
    headers.Authorization = `Bearer ${token.value.trim()}`;
    options.credentials = "omit";
  } else if (!SAFE.includes(method)) {
    headers["X-CSRFToken"] = cookie("csrftoken");
  }
  const body = form.querySelector("textarea.body");
  if (body && body.value.trim()) {
    headers["Content-Type"] = "application/json";
    options.body = body.value;
  }
  const asked = query.toString().replaceAll("%24", "$");
  return { address: asked ? `${path}?${asked}` : path, options };
}

function quoted(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Returns the call as a curl command, with a placeholder for the token. */
function commandOf({ address, options }) {
  const words = ["curl"];
  if (options.method !== "GET") words.push("-X", options.method);
  for (const [name, value] of Object.entries(options.headers)) {
    if (name === "Authorization") words.push("-H", '"Authorization: Bearer $TOKEN"');
    else if (name !== "X-CSRFToken") words.push("-H", quoted(`${name}: ${value}`));
  }
  if (options.body) words.push("-d", quoted(options.body));
  words.push(quoted(new URL(address, location.href).href));
  return words.join(" ");
}

function readable(text, type) {
  if (!type.startsWith("application/json")) return text;
  // Only indent the text: parsing would change numbers that JavaScript cannot represent exactly.
  if (/[^"\w.-]\d{16,}/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function part(kind, text, className) {
  const made = document.createElement(kind);
  made.textContent = text;
  if (className) made.className = className;
  if (kind === "pre") made.tabIndex = 0;
  return made;
}

async function send(form) {
  const result = form.querySelector("output");
  const request = requestOf(form);
  result.hidden = false;
  if (request === null) {
    result.replaceChildren(part("p", page.missing, "status"));
    return;
  }
  result.replaceChildren(part("p", page.waiting), part("pre", commandOf(request)));
  const started = performance.now();
  try {
    const response = await fetch(request.address, request.options);
    const text = await response.text();
    const taken = Math.round(performance.now() - started);
    const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    result.replaceChildren(
      part("p", `${response.status} ${response.statusText} · ${taken} ms`, "status"),
      part("pre", commandOf(request)),
      part("pre", headers),
      part("pre", readable(text, response.headers.get("content-type") || "")),
    );
  } catch (problem) {
    result.replaceChildren(part("p", page.failed, "status"), part("pre", String(problem)));
  }
}

document.addEventListener("submit", (event) => {
  event.preventDefault();
  if (event.target.classList.contains("try")) send(event.target);
});

document.addEventListener("click", (event) => {
  if (!event.target.classList.contains("fill")) return;
  for (const field of event.target.form.querySelectorAll("input[data-name]")) field.value = field.placeholder;
});

document.getElementById("find").addEventListener("input", (event) => {
  const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const group of document.querySelectorAll(".group")) {
    let found = 0;
    for (const operation of group.querySelectorAll(".operation")) {
      const text = `${operation.id} ${operation.querySelector("summary").textContent}`.toLowerCase();
      operation.hidden = !words.every((word) => text.includes(word));
      if (!operation.hidden) found += 1;
    }
    group.hidden = found === 0;
  }
});

function openNamed() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (named && named.classList.contains("operation")) {
    named.open = true;
    named.scrollIntoView();
  }
}

window.addEventListener("hashchange", openNamed);
openNamed();
