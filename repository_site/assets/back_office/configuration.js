/* Forms of the type configuration: the live preview, the order of parts, pick lists, and dependent choices. Without this
   script, every form can still be checked and saved. */

"use strict";

(() => {
  const PAUSE = 600;

  const start = () => {
    const page = document.querySelector("[data-config-form]");
    document.querySelectorAll("[data-pick]").forEach(countPicked);
    scrollToFocus();
    document.getElementById("changelist-form")?.addEventListener("end", () => {
      document.querySelector("[data-config-order]").hidden = false;
    });
    if (!page) {
      return;
    }
    const form = document.getElementById(page.dataset.configForm);
    const refresh = livePreview(page, form);
    form.addEventListener("input", refresh);
    form.addEventListener("change", (event) => {
      followDependents(form, event.target);
      countPicked(event.target.closest("[data-pick]"));
      refresh();
    });
    // Sortable sends this event after a drop.
    form.addEventListener("end", () => {
      form.querySelectorAll("[data-pick]").forEach(countPicked);
      noteMove(form);
    });
    form.addEventListener("click", (event) => {
      if (movePart(event.target) || movePicked(event.target)) {
        noteMove(form);
      }
    });
    form.addEventListener("submit", () => numberParts(form));
    form.addEventListener("formset:added", (event) => {
      const row = event.target.closest(".form-group");
      row.classList.remove("template");
      row.querySelectorAll("[data-pick]").forEach(countPicked);
      row.querySelector("input:not([type=hidden]), select, textarea")?.focus();
      offerStates(form);
      refresh();
    });
    form.addEventListener("input", (event) => {
      if (/^states-\d+-key$/.test(event.target.name || "")) {
        offerStates(form);
      }
    });
    form.querySelectorAll("select").forEach((select) => followDependents(form, select));
    offerStates(form);
  };

  /* The preview: the server checks the posted form and writes nothing. */

  const livePreview = (page, form) => {
    const panel = page.querySelector("[data-config-panel]");
    const failed = page.querySelector("[data-config-failed]");
    const status = statusLine();
    let timer = null;
    let running = null;

    const ask = async () => {
      running?.abort();
      running = new AbortController();
      numberParts(form);
      const data = new URLSearchParams();
      for (const [name, value] of new FormData(form)) {
        data.append(name, value);
      }
      data.append("_preview", "1");
      try {
        const response = await fetch(window.location.pathname + window.location.search, {
          method: "POST",
          body: data,
          signal: running.signal,
          headers: { Accept: "application/json" },
        });
        if (!response.ok) {
          throw new Error(String(response.status));
        }
        const answer = await response.json();
        panel.innerHTML = answer.html;
        panel.querySelectorAll("ins, del").forEach((mark) => {
          const box = mark.closest("pre");
          if (!box.dataset.scrolled) {
            box.dataset.scrolled = "1";
            box.scrollTop = Math.max(0, mark.offsetTop - box.offsetTop - 60);
          }
        });
        failed.hidden = true;
        status(panel.querySelector("[data-verdict]"));
      } catch (problem) {
        if (problem.name !== "AbortError") {
          failed.hidden = false;
        }
      }
    };

    return () => {
      window.clearTimeout(timer);
      timer = window.setTimeout(ask, PAUSE);
    };
  };

  /* The response is long: scroll to the part that the form changes. */
  const scrollToFocus = () => {
    const focus = document.querySelector("[data-config-focus]");
    const box = focus?.querySelector("pre");
    const lines = box?.textContent.split("\n") ?? [];
    const at = lines.findIndex((line) => line.includes(focus.dataset.configFocus));
    if (at > 0) {
      box.scrollTop = Math.max(0, ((at - 2) * box.scrollHeight) / lines.length);
    }
  };

  /* A short verdict beside the buttons, which are always visible. */
  const statusLine = () => {
    const row = document.querySelector("#submit-row .container, #submit-row > div > div");
    const line = document.createElement("a");
    line.className = "config-status";
    line.href = "#config-panel";
    line.hidden = true;
    // Between the save buttons and the delete button.
    row?.insertBefore(line, row.lastElementChild);
    return (verdict) => {
      line.hidden = !verdict;
      if (verdict) {
        line.dataset.verdict = verdict.dataset.verdict;
        line.replaceChildren(verdict.querySelector(".material-symbols-outlined").cloneNode(true));
        line.append(verdict.querySelector("strong")?.textContent ?? verdict.lastChild.textContent);
      }
    };
  };

  /* The order of parts is their order in the table. */

  const numberParts = (form) => {
    form.querySelectorAll("[data-parts] .formset").forEach((formset) => {
      formset.querySelectorAll(":scope > .form-group:not(.empty-form)").forEach((row, index) => {
        const place = row.querySelector("input[name$='-position']");
        if (place) {
          place.value = index;
        }
      });
    });
  };

  /* Moving a part counts as a change: for the preview, and for the warning before leaving the page. */
  const noteMove = (form) => {
    numberParts(form);
    form.querySelector("input").dispatchEvent(new Event("input", { bubbles: true }));
  };

  const movePart = (target) => {
    const button = target.closest("[data-parts-move]");
    if (!button) {
      return false;
    }
    move(button, button.closest(".form-group"), button.dataset.partsMove, (row) => row.matches(".form-group:not(.empty-form)"));
    return true;
  };

  const movePicked = (target) => {
    const button = target.closest("[data-pick-move]");
    if (!button) {
      return false;
    }
    move(button, button.closest(".pick-item"), button.dataset.pickMove, (row) => row.matches(".pick-item:not([hidden])"));
    countPicked(button.closest("[data-pick]"));
    return true;
  };

  const move = (button, row, direction, isNeighbour) => {
    const step = direction === "up" ? "previousElementSibling" : "nextElementSibling";
    let other = row[step];
    while (other && !isNeighbour(other)) {
      other = other[step];
    }
    if (other) {
      direction === "up" ? other.before(row) : other.after(row);
      button.focus();
    }
  };

  /* Pick lists. */

  const countPicked = (pick) => {
    if (!pick) {
      return;
    }
    const chosen = [...pick.querySelectorAll("input:checked")];
    pick.querySelector("[data-pick-count]").textContent = chosen.length;
    pick.querySelector("[data-pick-names]").replaceChildren(
      ...chosen.map((box) => {
        const name = document.createElement("span");
        name.textContent = box.nextElementSibling.textContent;
        return name;
      })
    );
  };

  /* A list that depends on another choice shows only matching entries; hidden entries are not chosen. */
  const followDependents = (form, select) => {
    if (!select.name) {
      return;
    }
    form.querySelectorAll(`[data-depends-on="${CSS.escape(select.name)}"]`).forEach((pick) => {
      pick.querySelectorAll(".pick-item").forEach((item) => {
        item.hidden = item.dataset.group !== select.value;
        if (item.hidden) {
          item.querySelector("input").checked = false;
        }
      });
      pick.querySelector("details").open = pick.querySelectorAll(".pick-item:not([hidden])").length <= 12;
      countPicked(pick);
    });
    if (select.name === "holds") {
      const values = document.getElementById("selectable_values-group");
      if (values) {
        values.hidden = !/SelectionValue$/.test(select.value);
      }
    }
  };

  /* New states of the same form can be chosen for transitions immediately. */
  const offerStates = (form) => {
    const typed = [...form.querySelectorAll("[data-parts=states] .form-group:not(.empty-form)")]
      .filter((row) => !row.classList.contains("original"))
      .map((row) => row.querySelector("input[name$='-key']")?.value.trim())
      .filter(Boolean);
    form.querySelectorAll("select[name$='-source_state'], select[name$='-target_state'], select[name='takes_effect']").forEach((select) => {
      select.querySelectorAll("option[data-typed]").forEach((option) => {
        if (!typed.includes(option.value) && !option.selected) {
          option.remove();
        }
      });
      const known = [...select.options].map((option) => option.value);
      typed.filter((key) => !known.includes(key)).forEach((key) => {
        const option = new Option(key, key);
        option.dataset.typed = "1";
        select.add(option);
      });
    });
  };

  window.addEventListener("load", start);
})();
