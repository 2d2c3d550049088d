/* The editor of a diagram: rows for the steps, the picture that the server draws of them, and one request to save. */

"use strict";

{
  const { make, icon, fill, combobox, dragRows } = StepWidgets;
  // Texts of the picture stay readable; a larger picture is scrolled.
  const READABLE = 0.6;
  const ICONS = {
    start: "play_circle", intermediate: "adjust", end: "stop_circle", and: "add_box", or: "radio_button_unchecked",
    xor: "cancel_presentation", condition: "help", task: "crop_landscape", process: "account_tree", interface: "output",
    other: "crop_square",
  };
  const read = (id) => JSON.parse(document.getElementById(id).textContent);

  class Editor {
    constructor(root) {
      this.root = root;
      this.state = read("steps-state");
      this.words = read("steps-words");
      this.cultures = read("steps-cultures");
      this.culture = this.state.culture;
      this.list = new StepList(this.state);
      this.current = this.list.steps[0]?.key ?? null;
      this.opened = new Set();
      // Warnings by the key of a step; those of the whole process have an empty key.
      this.findings = new Map();
      // The row of each step, with what it shows.
      this.shown = new WeakMap();
      this.rows = root.querySelector(".st-rows");
      this.picture = root.querySelector(".st-picture");
      this.status = root.querySelector("[role=status]");
      this.problems = root.querySelector(".st-problems");
      this.hints = root.querySelector(".st-findings");
      this.culturePicker = root.querySelector(".st-culture");
      this.culturePicker.value = this.culture;
      this.culturePicker.addEventListener("change", () => {
        this.culture = this.culturePicker.value;
        this.show();
      });
      for (const button of root.querySelectorAll("[data-do]")) {
        button.addEventListener("click", () => this.act(button.dataset.do, this.step));
      }
      document.addEventListener("keydown", (event) => this.onKey(event));
      this.picture.addEventListener("click", (event) => this.onPicture(event));
      window.addEventListener("beforeunload", (event) => {
        if (this.list.isChanged && !this.isLeaving) event.preventDefault();
      });
      dragRows(this.rows, {
        begin: (key) => this.select(key),
        isBelow: (key, other) => this.list.index(this.list.find(key)) > this.list.index(this.list.find(other)),
        drop: (key, target) => this.drop(this.list.find(key), this.list.find(target)),
      });
      this.show();
    }

    get step() {
      return this.list.find(this.current) ?? null;
    }

    /* Tell screen readers; everybody sees why something is not possible. */
    say(text, isProblem = false) {
      this.status.textContent = text;
      this.status.toggleAttribute("data-problem", isProblem);
    }

    name(step) {
      return step.names[this.culture] || Object.values(step.names).find(Boolean) || "";
    }

    label(step) {
      return fill(this.words.step, { number: this.list.index(step) + 1, name: this.name(step) || this.words.unnamed });
    }

    /* Actions by name, for buttons and keys. Each returns the step that is current afterwards, or nothing. */
    act(name, step) {
      const { list, words } = this;
      if (this.isSaving) return null;
      if (["add", "branch", "before", "split"].includes(name) && list.isFull) return this.say(fill(words.full, { most: list.most }), true);
      const actions = {
        add: () => list.addAfter(step),
        branch: () => step && list.addBranch(step),
        before: () => step && list.addBefore(step),
        split: () => step && list.split(step),
        indent: () => step && list.indent(step) && step,
        outdent: () => step && list.outdent(step) && step,
        remove: () => step && (list.remove(step) ?? true),
        up: () => step && list.move(step, list.index(step) - 1) && step,
        down: () => step && list.move(step, list.index(step) + 1) && step,
        undo: () => list.undo() && true,
        redo: () => list.redo() && true,
        save: () => void this.save(),
      };
      const found = actions[name]();
      if (!found) return name === "save" ? null : this.say(words.impossible, true);
      if (found !== true) this.current = list.find(found.key) ? found.key : this.current;
      if (!this.step) this.current = list.steps[0]?.key ?? null;
      this.show();
      this.focus();
      return this.say(this.step ? this.label(this.step) : words.empty);
    }

    onKey(event) {
      // Keys that compose a character, such as Enter in an input method for Japanese, are part of the text.
      if (event.isComposing) return undefined;
      const key = event.key.toLowerCase();
      const control = event.ctrlKey || event.metaKey;
      const row = event.target.closest(".st-row");
      const isName = event.target.classList.contains("st-name");
      const does = (name) => {
        event.preventDefault();
        const isRight = this.finish(event.target);
        if (isRight || name === "undo" || name === "redo") this.act(name, this.step);
      };
      if (control && key === "s") return does("save");
      if (control && key === "z") return does(event.shiftKey ? "redo" : "undo");
      if (control && key === "y") return does("redo");
      if (!row) return undefined;
      if (event.target.closest(".st-roles") && event.target.getAttribute("aria-expanded") === "true") return undefined;
      if (control && key === "b") return does("split");
      if (control && key === "delete") return does("remove");
      if (event.altKey && key === "arrowup") return does("up");
      if (event.altKey && key === "arrowdown") return does("down");
      if (key === "enter" && event.target.matches("input")) return does(event.shiftKey ? "before" : control ? "branch" : "add");
      if ((key === "arrowup" || key === "arrowdown") && event.target.matches("input")) return this.goTo(event, key === "arrowup" ? -1 : 1);
      if (key === "escape") {
        this.leavesTab = true;
        return this.say(this.words.tabLeaves);
      }
      if (key === "tab" && isName && !control && !event.altKey && !this.leavesTab) return this.onTab(event);
      if (key !== "shift") this.leavesTab = false;
      return undefined;
    }

    /* Take over the numbers that a person is typing, before an action renumbers the steps; return whether they are right. */
    finish(field) {
      if (!field.classList.contains("st-before")) return true;
      field.blur();
      field.focus();
      return field.getAttribute("aria-invalid") !== "true";
    }

    /* Tab indents where that is possible, and goes to the next field where it is not. */
    onTab(event) {
      const step = this.step;
      if (!step || !(event.shiftKey ? this.list.outdent(step) : this.list.indent(step))) return;
      event.preventDefault();
      this.show();
      this.focus();
      this.say(fill(event.shiftKey ? this.words.joined : this.words.branched, { step: this.label(step), numbers: this.list.numbers(step) }));
    }

    goTo(event, by) {
      const next = this.list.steps[this.list.index(this.step) + by];
      if (!next) return;
      event.preventDefault();
      const field = [...event.target.classList].find((name) => name.startsWith("st-"));
      this.select(next.key);
      this.focus(field);
    }

    focus(field = "st-name") {
      const row = this.row(this.current);
      const target = row?.querySelector(`.${field}`) ?? row?.querySelector(".st-name") ?? this.root.querySelector("[data-do=add]");
      target.focus();
      if (target.select) target.select();
      row?.scrollIntoView({ block: "nearest" });
    }

    row(key) {
      return this.rows.querySelector(`.st-row[data-key="${CSS.escape(key ?? "")}"]`);
    }

    select(key) {
      this.current = key;
      for (const row of this.rows.querySelectorAll(".st-row")) row.toggleAttribute("data-current", row.dataset.key === key);
      this.mark();
    }

    /* Mark the current shape in the picture, without drawing it again. */
    mark() {
      for (const shape of this.picture.querySelectorAll(".shape.current")) shape.classList.remove("current");
      const shape = this.picture.querySelector(`#${CSS.escape(`shape-${this.current}`)}`);
      shape?.classList.add("current");
      if (shape) this.reveal(shape);
    }

    /* Scroll the picture, not the page, to a shape that is not visible in it. */
    reveal(shape) {
      const [place, area] = [shape.getBoundingClientRect(), this.picture.getBoundingClientRect()];
      const isVisible = place.left >= area.left && place.right <= area.right && place.top >= area.top && place.bottom <= area.bottom;
      if (isVisible) return;
      this.picture.scrollLeft += place.left + place.width / 2 - area.left - area.width / 2;
      this.picture.scrollTop += place.top + place.height / 2 - area.top - area.height / 2;
    }

    onPicture(event) {
      const key = event.target.closest("[id^=shape-]")?.id.slice("shape-".length);
      if (!key || !this.list.find(key)) return;
      event.preventDefault();
      this.select(key);
      this.focus();
    }

    show() {
      const depths = this.list.depths();
      const rows = this.list.steps.map((step) => this.currentRow(step, depths.get(step.key)));
      const kept = new Set(rows);
      for (const row of [...this.rows.children]) if (!kept.has(row)) row.remove();
      // Rows that stay at their place are not touched: the browser does not have to lay them out again.
      rows.forEach((row, place) => {
        const there = this.rows.children[place] ?? null;
        if (there !== row) this.rows.insertBefore(row, there);
      });
      this.root.querySelector(".st-empty").hidden = this.list.steps.length > 0;
      this.select(this.current);
      this.typed();
    }

    /* Show all rows again, with the focus at the same place of the same field: the person may be typing there. */
    showAgain() {
      const { activeElement } = document;
      const { selectionStart, selectionEnd } = activeElement ?? {};
      const key = activeElement?.closest(".st-row")?.dataset.key;
      const field = [...(activeElement?.classList ?? [])].find((name) => name.startsWith("st-"));
      this.show();
      const again = key && field && this.row(key)?.querySelector(`.${field}`);
      again?.focus();
      if (selectionStart != null) again?.setSelectionRange(selectionStart, selectionEnd);
    }

    /* After typing: the fields stay as they are, the picture follows. */
    typed() {
      for (const [name, isOff] of [["undo", !this.list.past.length], ["redo", !this.list.future.length], ["save", !this.list.isChanged]]) {
        this.root.querySelector(`[data-do=${name}]`).disabled = isOff;
      }
      this.draw();
    }

    /* The row of a step. It is built again only if what it shows has changed. */
    currentRow(step, depth) {
      const look = JSON.stringify([this.culture, this.opened.has(step.key), step]);
      const known = this.shown.get(step);
      const row = known?.look === look ? known.row : this.rowOf(step);
      this.shown.set(step, { look, row });
      const level = String(Math.min(depth, 8));
      if (row.style.getPropertyValue("--depth") !== level) row.style.setProperty("--depth", level);
      this.renumber(row, step);
      return row;
    }

    /* Write the numbers of steps into a row: in its fields and in their labels for screen readers. */
    renumber(row, step) {
      const numbers = this.list.numbers(step);
      const number = this.list.index(step) + 1;
      if (row.dataset.numbers === `${number}: ${numbers}`) return;
      row.dataset.numbers = `${number}: ${numbers}`;
      row.querySelector(".st-number").textContent = number;
      row.querySelector(".st-before").value = numbers;
      for (const each of row.querySelectorAll("[data-label]")) {
        const { label, flow, culture } = each.dataset;
        const from = flow ? this.list.index(this.list.find(flow)) + 1 : 0;
        each.setAttribute("aria-label", fill(this.words[label], { number, from, culture }));
        if (flow) each.placeholder = step.before.length > 1 ? fill(this.words.from, { from }) : this.words.label;
      }
    }

    rowOf(step) {
      const { words, list } = this;
      const type = list.types.get(step.type);
      const row = make("li", { class: "st-row", "data-key": step.key, id: `step-${step.key}` });
      row.addEventListener("focusin", () => this.current === step.key || this.select(step.key));
      const handle = make("span", { class: "st-handle", title: words.drag, "aria-hidden": "true" }, icon("drag_indicator"), make("span", { class: "st-number" }));
      row.append(
        handle,
        this.typeField(step, type),
        this.nameField(step, type),
        this.beforeField(step),
        this.labelFields(step),
        type.roles ? this.roleField(step, type) : make("span", { class: "st-roles" }),
        this.buttons(step),
      );
      if (this.opened.has(step.key)) row.append(this.translations(step));
      row.append(make("p", { class: "st-hint", id: `hint-${step.key}` }, ...this.warnings(step.key)));
      return row;
    }

    typeField(step, type) {
      const offered = [...this.list.types.values()].filter((each) => each.isOffered || each === type);
      const choices = offered.map((each) => make("option", { value: each.key, selected: each === type }, each.name));
      const select = make("select", { class: "st-type", "data-label": "typeOf" }, ...choices);
      select.addEventListener("change", () => {
        this.list.setType(step, select.value);
        this.retype(step);
      });
      const symbol = icon(ICONS[this.list.kind(step)]);
      symbol.style.color = type.color;
      return make("span", { class: "st-typed" }, symbol, select);
    }

    /* Show a new type without replacing the field in which the person may still be typing it. */
    retype(step) {
      const depths = this.list.depths();
      for (const row of this.rows.children) row.style.setProperty("--depth", Math.min(depths.get(row.dataset.key), 8));
      const row = this.row(step.key);
      const made = this.rowOf(step);
      this.renumber(made, step);
      const [symbol] = row.querySelector(".st-typed").children;
      symbol.replaceWith(made.querySelector(".st-typed").firstElementChild);
      for (const cell of [".st-named", ".st-labels", ".st-roles"]) row.querySelector(cell).replaceWith(made.querySelector(cell));
      this.typed();
    }

    nameField(step, type) {
      const input = make("input", {
        class: "st-name", type: "text", dir: "auto", autocomplete: "off", value: step.names[this.culture] ?? "", readonly: this.list.isFixed(step),
        placeholder: this.name(step) || type.name, "data-label": "nameOf", "aria-describedby": `hint-${step.key}`,
      });
      input.addEventListener("input", () => this.rename(step, this.culture, input.value));
      if (!type.isOwn) return this.placing(step, type, input);
      return make("span", { class: "st-named" }, input);
    }

    rename(step, culture, text) {
      this.list.change(() => {
        if (text.trim()) step.names[culture] = text;
        else delete step.names[culture];
      }, `${step.key} name ${culture}`);
      this.typed();
    }

    /* A step of a type that lives outside diagrams: choose an existing element, or type the name of a new one. */
    placing(step, type, input) {
      const chosen = (choice) => {
        this.list.place(step, choice.id, { [this.culture]: choice.text });
        this.show();
        this.focus();
      };
      const field = this.choices(input, `types=${encodeURIComponent(type.key)}`, chosen, `choices-${step.key}`);
      if (step.element) {
        const clear = make("button", { type: "button", class: "st-icon", title: this.words.otherElement, "aria-label": this.words.otherElement }, icon("swap_horiz"));
        clear.addEventListener("click", () => {
          this.list.place(step, null, {});
          this.show();
          this.focus();
        });
        field.append(clear);
      }
      return make("span", { class: "st-named" }, field);
    }

    beforeField(step) {
      const input = make("input", {
        class: "st-before", type: "text", inputmode: "numeric", autocomplete: "off", "data-label": "beforeOf",
      });
      input.addEventListener("change", () => {
        const wrong = this.list.setBefore(step, input.value);
        input.setAttribute("aria-invalid", String(wrong.length > 0));
        // The field shows the stored numbers again after the next change.
        if (wrong.length) this.shown.delete(step);
        if (wrong.length) return this.say(fill(this.words.noStep, { numbers: wrong.join(", "), count: this.list.steps.length }), true);
        // The person may be on the way to another field.
        setTimeout(() => this.showAgain());
        return undefined;
      });
      return input;
    }

    labelFields(step) {
      const fields = step.before.map((flow) => {
        const input = make("input", {
          class: "st-label", type: "text", dir: "auto", autocomplete: "off", value: flow.label[this.culture] ?? "",
          "data-label": "labelOf", "data-flow": flow.key,
        });
        const { key } = flow;
        input.addEventListener("input", () => {
          this.list.change(() => {
            const { label } = step.before.find((each) => each.key === key);
            if (input.value.trim()) label[this.culture] = input.value;
            else delete label[this.culture];
          }, `${step.key} label ${key} ${this.culture}`);
          this.typed();
        });
        return input;
      });
      return make("span", { class: "st-labels" }, ...fields);
    }

    roleField(step, type) {
      if (this.list.isFixed(step)) return make("span", { class: "st-roles" }, ...step.roles.map((role) => make("span", { class: "st-chip st-fixed" }, role.text)));
      const chips = step.roles.map((role) => {
        const label = fill(this.words.removeRole, { name: role.text });
        const remove = make("button", { type: "button", class: "st-icon", "aria-label": label, title: label }, icon("close"));
        remove.addEventListener("click", () => {
          this.list.change(() => (step.roles = step.roles.filter((each) => each.id !== role.id)));
          this.show();
          this.focus("st-role");
        });
        return make("span", { class: "st-chip" }, role.text, remove);
      });
      const input = make("input", {
        class: "st-role", type: "text", autocomplete: "off", placeholder: step.roles.length ? "" : type.rolesName, "data-label": "roleOf",
      });
      const chosen = (choice) => {
        this.list.change(() => {
          if (!step.roles.some((role) => role.id === choice.id)) step.roles.push({ id: choice.id, text: choice.text });
        });
        this.show();
        this.focus("st-role");
      };
      const query = `type=${encodeURIComponent(type.key)}&context=${encodeURIComponent(type.roles)}`;
      return make("span", { class: "st-roles" }, ...chips, this.choices(input, query, chosen, `roles-${step.key}`));
    }

    buttons(step) {
      const add = (name, label, act) => {
        const button = make("button", { type: "button", class: "st-icon", title: this.words[label], "data-label": `${label}Of` }, icon(name));
        button.addEventListener("click", act);
        return button;
      };
      const texts = add("translate", "translations", () => {
        if (!this.opened.delete(step.key)) this.opened.add(step.key);
        this.select(step.key);
        this.show();
        this.focus(this.opened.has(step.key) ? "st-translation" : "st-name");
      });
      texts.setAttribute("aria-expanded", String(this.opened.has(step.key)));
      return make("span", { class: "st-buttons" }, ...(this.cultures.length > 1 ? [texts] : []), add("delete", "remove", () => this.act("remove", step)));
    }

    /* Names in the other cultures. */
    translations(step) {
      const others = this.cultures.filter((each) => String(each.lcid) !== this.culture);
      const fields = others.map((each) => {
        const input = make("input", { class: "st-translation", type: "text", dir: "auto", value: step.names[each.lcid] ?? "", readonly: this.list.isFixed(step), "data-label": "nameIn", "data-culture": each.name });
        input.addEventListener("input", () => this.rename(step, String(each.lcid), input.value));
        return make("label", { class: "st-other" }, make("span", {}, each.name), input);
      });
      return make("div", { class: "st-others" }, ...fields);
    }

    drop(step, target) {
      if (!this.list.move(step, this.list.index(target))) return;
      this.current = step.key;
      this.show();
      this.focus();
    }

    /* A field that suggests elements by name. */
    choices(input, query, chosen, id) {
      const address = new URL(`${this.state.choices}?${query}`, window.location.href);
      const found = (count) => this.say(fill(this.words.matches, { count }));
      return combobox(input, { address, chosen, found, id, label: this.words.found });
    }

    /* Draw at once; changes that are made meanwhile are drawn together, right after. */
    async draw() {
      this.isStale = true;
      if (this.isDrawing) return;
      this.isDrawing = true;
      while (this.isStale) {
        this.isStale = false;
        await this.fetchPicture();
      }
      this.isDrawing = false;
    }

    async fetchPicture() {
      const steps = this.list.steps.map(({ key, type, element, names, before, roles, container, host }) => (
        { key, type, element, name: names, before, roles: roles.map((role) => role.id), container, host }
      ));
      const body = JSON.stringify({ culture: this.culture, steps });
      try {
        const answer = await fetch(this.state.preview, { method: "POST", body, headers: this.headers() });
        if (!answer.ok) throw new Error(answer.statusText);
        // The server draws the picture and escapes every text in it.
        const found = new DOMParser().parseFromString(await answer.text(), "text/html");
        const svg = document.adoptNode(found.querySelector("svg"));
        svg.style.minWidth = `${svg.getAttribute("width") * READABLE}px`;
        this.picture.replaceChildren(svg);
        this.picture.removeAttribute("data-stale");
        this.showFindings(found.querySelectorAll("p[data-key]"));
        this.mark();
      } catch {
        this.picture.setAttribute("data-stale", "");
      }
    }

    /* Show warnings; the rows whose warnings stay the same are not touched. */
    showFindings(found) {
      const before = this.findings;
      this.findings = new Map();
      for (const { dataset: { key }, textContent } of found) this.findings.set(key, [...(this.findings.get(key) ?? []), textContent]);
      for (const key of new Set([...before.keys(), ...this.findings.keys()])) {
        if (String(before.get(key)) === String(this.findings.get(key))) continue;
        const hint = key ? document.getElementById(`hint-${key}`) : this.hints;
        hint?.replaceChildren(...this.warnings(key));
      }
    }

    warnings(key) {
      return (this.findings.get(key) ?? []).map((text) => make("span", {}, icon("warning"), text));
    }

    headers() {
      const token = this.root.querySelector("input[name=csrfmiddlewaretoken]").value;
      return { "Content-Type": "application/json", Accept: "application/json", "X-CSRFToken": token };
    }

    async save() {
      if (!this.list.isChanged) return;
      // The request would not contain what somebody types now.
      this.isSaving = this.rows.inert = true;
      this.problems.replaceChildren();
      this.problems.hidden = true;
      this.say(this.words.saving);
      try {
        const body = JSON.stringify(this.list.request());
        const answer = await fetch(this.state.save, { method: "PUT", body, headers: { ...this.headers(), "If-Match": this.state.tag } });
        if (answer.ok) {
          this.isLeaving = true;
          window.location.assign(this.state.done);
        } else if (answer.status === 412) await this.reconcile();
        else this.showProblems(this.words.notSaved, (await answer.json()).data.map((each) => this.problemText(each)));
      } catch {
        this.showProblems(this.words.notSaved, [make("li", {}, this.words.offline)]);
      } finally {
        this.isSaving = this.rows.inert = Boolean(this.isLeaving);
      }
    }

    /* Another person has saved first: show their changes, keep own ones, and let the person save again. */
    async reconcile() {
      const answer = await fetch(this.state.state, { headers: { Accept: "application/json" } });
      if (!answer.ok) return this.showProblems(this.words.notSaved, [make("li", {}, this.words.locked)]);
      this.state = await answer.json();
      const notes = this.list.merge(this.state);
      this.shown = new WeakMap();
      if (!this.step) this.current = this.list.steps[0]?.key ?? null;
      this.show();
      const items = notes.map(({ kind, step }) => make("li", {}, fill(this.words[kind], { name: this.name(step) || this.words.unnamed })));
      return this.showProblems(fill(this.words.conflict, { who: this.state.changedBy, when: this.state.changedOn }), items);
    }

    problemText(text) {
      const place = /^values\[(\d+)\][.:]?\s*/.exec(text);
      const step = place && this.list.steps[Number(place[1])];
      if (!step) return make("li", {}, text);
      return make("li", {}, make("a", { href: `#step-${step.key}` }, this.label(step)), " – ", text.slice(place[0].length));
    }

    showProblems(title, items) {
      this.problems.replaceChildren(make("p", {}, title), make("ul", {}, ...items));
      this.problems.hidden = false;
      this.problems.focus();
    }
  }

  const root = document.querySelector(".st-editor");
  root.hidden = false;
  new Editor(root);
}
