// Keyboard and screen readers in the back office, where the theme supports only the mouse (D424).
"use strict";

// The theme writes icons as words in a font; links and buttons would be read as "add Add element".
function hideIcons(root) {
  for (const icon of root.querySelectorAll(".material-symbols-outlined")) icon.setAttribute("aria-hidden", "true");
}

// The scroll bars of the theme make regions, all with the same English name.
function nameRegions() {
  const page = document.querySelector("h1")?.textContent.trim().replace(/\s+/g, " ") ?? "";
  for (const region of document.querySelectorAll("[data-simplebar]")) {
    const around = region.closest("[aria-label]");
    region.setAttribute("data-simplebar-aria-label", around ? around.getAttribute("aria-label") : page);
  }
}

// The theme heads a column of handles with nothing, which is a cell and not a heading.
function replaceEmptyHeadings() {
  for (const heading of document.querySelectorAll("#result_list th:empty")) heading.replaceWith(document.createElement("td"));
}

// On narrow pages, labels of cells begin like the headings of columns.
function capitalizeLabels() {
  for (const cell of document.querySelectorAll("#result_list [data-label]")) {
    cell.dataset.label = cell.dataset.label.charAt(0).toUpperCase() + cell.dataset.label.slice(1);
  }
}

document.addEventListener("DOMContentLoaded", () => {
  hideIcons(document);
  capitalizeLabels();
  replaceEmptyHeadings();
  nameRegions();
});
document.addEventListener("htmx:load", (event) => hideIcons(event.target));

// Menus: the browser opens, closes and leaves them; the arrow keys and the place are ours.
{
  const GAP = 4;
  const entries = (menu) => [...menu.querySelectorAll("a[href], button")];
  const opener = (menu) => document.querySelector(`[popovertarget="${menu.id}"]`);
  let openedAt = null;

  document.addEventListener(
    "toggle",
    (event) => {
      const menu = event.target;
      if (event.newState !== "open" || !menu.matches?.(".office-menu")) return;
      const button = opener(menu);
      const [side, end] = button.dataset.opensMenu.split("-");
      const box = button.getBoundingClientRect();
      openedAt = box;
      const left = end === "end" ? box.right - menu.offsetWidth : box.left + GAP;
      const above = side === "top" || box.bottom + GAP + menu.offsetHeight > window.innerHeight;
      menu.style.left = `${Math.max(GAP, left)}px`;
      menu.style.top = `${Math.max(GAP, above ? box.top - GAP - menu.offsetHeight : box.bottom + GAP)}px`;
    },
    true,
  );

  document.addEventListener("keydown", (event) => {
    const button = event.target.closest?.("[data-opens-menu]");
    const menu = button ? document.getElementById(button.getAttribute("popovertarget")) : event.target.closest?.(".office-menu");
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (!menu || !(event.key in steps || event.key === "Home" || event.key === "End")) return;
    if (button && !(event.key in steps)) return;
    event.preventDefault();
    if (button && !menu.matches(":popover-open")) menu.showPopover({ source: button });
    const all = entries(menu);
    const at = all.indexOf(document.activeElement);
    const last = all.length - 1;
    const next = { Home: 0, End: last, ArrowDown: at === last ? 0 : at + 1, ArrowUp: at < 1 ? last : at - 1 };
    all[next[event.key]].focus();
  });

  // A menu does not stay open behind the page once the focus has left it.
  document.addEventListener("focusout", (event) => {
    const menu = event.target.closest?.(".office-menu:popover-open");
    const next = event.relatedTarget;
    if (menu && next && !menu.contains(next) && next !== opener(menu)) menu.hidePopover();
  });
  // A fixed menu would stay in its place while its row moves away. A list that was scrolled to the button still reports
  // it after the menu has opened.
  document.addEventListener(
    "scroll",
    () => {
      const menu = document.querySelector(".office-menu:popover-open");
      const box = menu && opener(menu).getBoundingClientRect();
      if (box && openedAt && (box.left !== openedAt.left || box.top !== openedAt.top)) menu.hidePopover();
    },
    true,
  );
}

// Links that act as buttons also react to the space bar.
document.addEventListener("keydown", (event) => {
  if (event.key === " " && event.target.matches?.("a[role=button]")) {
    event.preventDefault();
    event.target.click();
  }
});

// Filters open beside the list on narrow pages: the focus moves into them and back.
document.addEventListener("DOMContentLoaded", () => {
  const button = document.querySelector("[data-opens-filters]");
  const panel = document.getElementById("changelist-filter");
  if (!button || !panel) return;
  const isOpen = () => panel.checkVisibility() && button.checkVisibility();
  button.addEventListener("click", () =>
    setTimeout(() => panel.querySelector("a[href], button, select, input:not([type=hidden])")?.focus(), 50),
  );
  panel.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && isOpen()) button.focus();
  });
});

// The way back to a list or a tree leads to the same rows: its filters, open branches and position.
{
  const PLACE = "office-list:";
  const RETURN = "office-return";
  const here = window.location;
  const isList = () => document.body.matches(".change-list") || document.querySelector(".el-tree");
  const read = (path) => JSON.parse(sessionStorage.getItem(PLACE + path) ?? "null");

  // Tell whether a link asks for nothing that the stored address does not ask for as well.
  function isCovered(link, stored) {
    const known = new URLSearchParams(stored.search);
    return [...link.searchParams].every(([name, value]) => known.get(name) === value);
  }

  function pointBack() {
    for (const link of document.querySelectorAll("header a[href], .el-crumbs a[href], .el-form-submit a[href]")) {
      const address = new URL(link.href);
      const stored = address.origin === here.origin && address.pathname !== here.pathname && read(address.pathname);
      if (!stored || !isCovered(address, stored)) continue;
      link.href = address.pathname + stored.search;
      link.addEventListener("click", () => sessionStorage.setItem(RETURN, address.pathname));
    }
    // The server redirects to the list after a deletion.
    for (const field of document.querySelectorAll("input[data-list]")) field.value = read(field.dataset.list)?.search ?? "";
  }

  // A form below the list, such as the page of a row, also returns to it.
  function comesBack() {
    const from = document.referrer ? new URL(document.referrer) : null;
    const isBelow = from?.origin === here.origin && from.pathname !== here.pathname && from.pathname.startsWith(here.pathname);
    const isMarked = sessionStorage.getItem(RETURN) === here.pathname;
    sessionStorage.removeItem(RETURN);
    return isMarked || isBelow;
  }

  document.addEventListener("DOMContentLoaded", () => {
    if (!isList()) return pointBack();
    const stored = read(here.pathname);
    if (comesBack() && stored && stored.search === here.search) {
      window.addEventListener("load", () => window.scrollTo(0, stored.top));
    }
    const keep = () =>
      sessionStorage.setItem(PLACE + here.pathname, JSON.stringify({ search: here.search, top: window.scrollY }));
    window.addEventListener("pagehide", keep);
    return undefined;
  });
}

// Paper is white: the dark colours of the theme are not printed.
{
  const { classList } = document.documentElement;
  let isDark = false;
  window.addEventListener("beforeprint", () => {
    isDark = classList.contains("dark");
    classList.remove("dark");
  });
  window.addEventListener("afterprint", () => classList.toggle("dark", isDark));
}
