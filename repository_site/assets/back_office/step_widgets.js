/* Parts of the editor's rows: elements, fields that suggest, and rows that can be dragged. */

"use strict";

{
  const SEARCH_DELAY = 200;
  const MOST = 8;

  function make(tag, attributes = {}, ...content) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === true) made.setAttribute(name, "");
      else if (value !== false && value !== null) made.setAttribute(name, value);
    }
    made.append(...content);
    return made;
  }

  function icon(name) {
    return make("span", { class: "material-symbols-outlined", "aria-hidden": "true" }, name);
  }

  function fill(text, words) {
    return text.replace(/\{(\w+)\}/g, (_, word) => String(words[word]));
  }

  /* A field that suggests elements by name. Arrow keys choose while suggestions are shown. */
  function combobox(input, { address, chosen, found: tell, id, label }) {
    const options = make("ul", { class: "st-choices", role: "listbox", id, "aria-label": label, hidden: true });
    let active = -1;
    let turn = 0;
    let timer;
    input.setAttribute("role", "combobox");
    input.setAttribute("aria-autocomplete", "list");
    input.setAttribute("aria-controls", id);
    const close = () => {
      turn += 1;
      options.hidden = true;
      input.setAttribute("aria-expanded", "false");
      input.removeAttribute("aria-activedescendant");
    };
    const look = async () => {
      const asked = ++turn;
      address.searchParams.set("term", input.value);
      const answer = await fetch(address, { headers: { Accept: "application/json" } }).catch(() => null);
      if (!answer?.ok) return;
      const found = (await answer.json()).results.slice(0, MOST);
      if (asked !== turn || document.activeElement !== input) return;
      active = -1;
      options.replaceChildren(
        ...found.map((choice, place) => {
          const option = make("li", { role: "option", id: `${id}-${place}`, "aria-selected": "false" }, choice.text);
          option.addEventListener("mousedown", (event) => {
            event.preventDefault();
            chosen(choice);
          });
          option.choose = () => chosen(choice);
          return option;
        }),
      );
      options.hidden = !found.length;
      input.setAttribute("aria-expanded", String(found.length > 0));
      tell(found.length);
    };
    input.addEventListener("input", () => {
      clearTimeout(timer);
      if (input.readOnly) return;
      if (input.value.trim()) timer = setTimeout(look, SEARCH_DELAY);
      else close();
    });
    input.addEventListener("blur", () => setTimeout(close, 150));
    input.addEventListener("keydown", (event) => {
      const shown = options.hidden ? [] : [...options.children];
      if (!shown.length || event.isComposing) return;
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        const next = event.key === "ArrowDown" ? active + 1 : Math.max(active, 0) - 1;
        active = (next + shown.length) % shown.length;
        shown.forEach((option, place) => option.setAttribute("aria-selected", String(place === active)));
        input.setAttribute("aria-activedescendant", shown[active].id);
        shown[active].scrollIntoView({ block: "nearest" });
      } else if (event.key === "Enter" && active >= 0) shown[active].choose();
      else if (event.key === "Escape") close();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    close();
    return make("span", { class: "st-combobox" }, input, options);
  }

  /* Rows are dragged by their handles, with a mouse, a pen or a finger. */
  function dragRows(rows, { begin, isBelow, drop }) {
    let dragged = null;
    let target = null;
    const aim = (row) => {
      target?.removeAttribute("data-drop");
      target = row && row.dataset.key !== dragged ? row : null;
      if (!target) return;
      target.setAttribute("data-drop", isBelow(target.dataset.key, dragged) ? "below" : "above");
      target.scrollIntoView({ block: "nearest" });
    };
    const end = (isDropped) => {
      if (!dragged) return;
      const [key, onto] = [dragged, target?.dataset.key];
      aim(null);
      dragged = null;
      rows.removeAttribute("data-dragging");
      if (isDropped && onto) drop(key, onto);
    };
    rows.addEventListener("pointerdown", (event) => {
      const handle = event.target.closest(".st-handle");
      if (!handle || event.button !== 0) return;
      event.preventDefault();
      dragged = handle.closest(".st-row").dataset.key;
      begin(dragged);
      rows.setPointerCapture(event.pointerId);
      rows.setAttribute("data-dragging", "");
    });
    rows.addEventListener("pointermove", (event) => {
      if (dragged) aim(document.elementFromPoint(event.clientX, event.clientY)?.closest(".st-row"));
    });
    rows.addEventListener("pointerup", () => end(true));
    rows.addEventListener("pointercancel", () => end(false));
  }

  window.StepWidgets = { make, icon, fill, combobox, dragRows };
}
