/* The tree of elements: arrow keys go through it, Alt and an arrow key or dragging moves an element (D481).

   A move is the value of a button that the server has written, or is made of the same parts. The response is the whole
   page; only the tree in it is shown. */

"use strict";

{
  const STEPS = { ArrowUp: "up", ArrowDown: "down", ArrowRight: "in", ArrowLeft: "out", Home: "top" };
  const ZONES = ["before", "into", "after"];
  let isBusy = false;
  let dragged = null;

  const tree = () => document.getElementById("tree");
  const rowOf = (branch) => branch.querySelector(":scope > .el-branch-row");
  const nameOf = (branch) => rowOf(branch).querySelector(".el-named");
  const topOf = (branch) => rowOf(branch).querySelector("[data-step=top]");
  const isTop = (place) => place instanceof Element && place.closest("#tree-top") && topOf(dragged);
  const branchAt = (place) => (place instanceof Element ? place.closest("#tree .el-branch") : null);

  const say = (text) => {
    document.getElementById("tree-status").textContent = text;
  };

  const send = async (move) => {
    if (isBusy) return;
    isBusy = true;
    tree().setAttribute("aria-busy", "true");
    const form = document.getElementById("tree-form");
    const body = new FormData(form);
    body.set("move", move);
    // Branches that were opened since the page was loaded are in its address only.
    body.set("open", new URLSearchParams(location.search).get("open") ?? "");
    try {
      const response = await fetch(form.action, { method: "POST", body });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const found = page.getElementById("tree");
      if (!found) {
        location.reload();
        return;
      }
      tree().replaceWith(found);
      window.htmx?.process(found);
      if (response.ok) history.replaceState(history.state, "", withoutMove(response.url));
      say(found.querySelector(".el-tree-problems, .el-tree-moved > span")?.textContent.trim() ?? "");
      const branch = document.getElementById(`at-${move.split("/")[0]}`);
      if (branch) nameOf(branch).focus();
    } catch (error) {
      say(tree().dataset.failed);
    } finally {
      isBusy = false;
      tree().removeAttribute("aria-busy");
    }
  };

  const withoutMove = (address) => {
    const url = new URL(address);
    url.searchParams.delete("moved");
    url.searchParams.delete("before");
    return url.href.replaceAll("%2C", ",");
  };

  const walk = (branch, key) => {
    const toggle = rowOf(branch).querySelector(".el-branch-toggle[aria-expanded]");
    const isOpen = toggle?.getAttribute("aria-expanded") === "true";
    if (key === "ArrowRight" && toggle && !isOpen) return toggle.click();
    if (key === "ArrowLeft" && isOpen) return toggle.click();
    const names = [...tree().querySelectorAll(".el-branch-row > .el-named")];
    const here = names.indexOf(nameOf(branch));
    const next = {
      ArrowUp: names[here - 1],
      ArrowDown: names[here + 1],
      ArrowRight: isOpen ? names[here + 1] : null,
      ArrowLeft: branch.parentElement.closest(".el-branch") && nameOf(branch.parentElement.closest(".el-branch")),
    }[key];
    return next?.focus();
  };

  document.addEventListener("keydown", (event) => {
    const branch = branchAt(event.target);
    if (!tree()?.contains(event.target)) return;
    if ((event.ctrlKey || event.metaKey) && event.key === "z") {
      const undo = tree().querySelector("[data-undo]");
      if (undo) {
        event.preventDefault();
        send(undo.value);
      }
      return;
    }
    if (!branch || !(event.key in STEPS) || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.altKey) {
      // Also without a move, because the browser would go back.
      event.preventDefault();
      const button = rowOf(branch).querySelector(`[data-step=${STEPS[event.key]}]`);
      if (button) send(button.value);
      else say(tree().dataset.nowhere);
    } else if (event.key !== "Home" && event.target.matches(".el-named, .el-branch-toggle")) {
      event.preventDefault();
      walk(branch, event.key);
    }
  });

  document.addEventListener("submit", (event) => {
    if (event.target.id !== "tree-form" || !event.submitter) return;
    event.preventDefault();
    send(event.submitter.value);
  });

  const unmark = () => {
    for (const row of document.querySelectorAll("[data-drop]")) delete row.dataset.drop;
  };

  const zoneAt = (event, branch) => {
    const box = rowOf(branch).getBoundingClientRect();
    const share = (event.clientY - box.top) / box.height;
    // Elements at the top are sorted by name: there is only inside.
    return branch.dataset.parent ? ZONES[share < 0.3 ? 0 : share > 0.7 ? 2 : 1] : "into";
  };

  document.addEventListener("dragstart", (event) => {
    const branch = branchAt(event.target);
    if (!branch || !rowOf(branch).draggable) return;
    dragged = branch;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", nameOf(branch).textContent.trim());
    // A change of the page in this event would end the drag.
    if (topOf(branch)) setTimeout(() => dragged && (tree().dataset.dragging = ""));
  });

  document.addEventListener("dragover", (event) => {
    const branch = branchAt(event.target);
    unmark();
    if (dragged && isTop(event.target)) {
      event.preventDefault();
      document.getElementById("tree-top").dataset.drop = "top";
      return;
    }
    if (!dragged || !branch || dragged.contains(branch)) return;
    event.preventDefault();
    rowOf(branch).dataset.drop = zoneAt(event, branch);
  });

  document.addEventListener("drop", (event) => {
    const branch = branchAt(event.target);
    unmark();
    if (dragged && isTop(event.target)) {
      event.preventDefault();
      send(topOf(dragged).value);
      return;
    }
    if (!dragged || !branch || dragged.contains(branch)) return;
    event.preventDefault();
    send([dragged.dataset.element, dragged.dataset.parent, zoneAt(event, branch), branch.dataset.element].join("/"));
  });

  document.addEventListener("dragend", () => {
    dragged = null;
    delete tree().dataset.dragging;
    unmark();
  });

  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.target.id === "tree-details") event.target.scrollIntoView({ block: "nearest" });
  });
}
