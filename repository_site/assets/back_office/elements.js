/* The picker for elements: a sortable list of chosen elements, and a search field. */

"use strict";

{
  const DELAY = 200;

  class Picker {
    constructor(root) {
      this.root = root;
      this.value = root.querySelector("input[type=hidden]");
      this.chosen = root.querySelector(".el-chosen");
      this.search = root.querySelector(".el-search");
      this.input = this.search.querySelector("input");
      this.choices = this.search.querySelector(".el-choices");
      this.status = this.search.querySelector("[role=status]");
      this.most = Number(root.dataset.most);
      this.request = 0;
      this.active = -1;
      this.search.hidden = false;
      for (const item of this.chosen.children) this.addButtons(item);
      this.input.addEventListener("input", () => this.wait());
      this.input.addEventListener("focus", () => this.look());
      this.input.addEventListener("blur", () => setTimeout(() => this.close(), 150));
      this.input.addEventListener("keydown", (event) => this.onKey(event));
      this.settle();
    }

    get ids() {
      return [...this.chosen.children].map((item) => item.dataset.id);
    }

    settle() {
      const before = this.value.value;
      this.value.value = this.ids.join(",");
      const isFull = this.ids.length >= this.most;
      this.input.disabled = isFull && this.most > 1;
      if (this.input.disabled) this.input.placeholder = this.root.dataset.full;
      if (before !== this.value.value) this.value.dispatchEvent(new Event("change", { bubbles: true }));
      for (const item of this.chosen.children) {
        const [up, down] = item.querySelectorAll("button");
        if (this.most > 1) {
          up.disabled = item === this.chosen.firstElementChild;
          down.disabled = item === this.chosen.lastElementChild;
        }
      }
    }

    addButtons(item) {
      const buttons = document.createElement("span");
      buttons.className = "el-chosen-buttons";
      const name = item.querySelector(".el-chosen-name").textContent.trim();
      const add = (icon, label, act) => {
        const button = document.createElement("button");
        button.type = "button";
        button.title = label;
        button.setAttribute("aria-label", `${label}: ${name}`);
        const symbol = document.createElement("span");
        symbol.className = "material-symbols-outlined";
        symbol.setAttribute("aria-hidden", "true");
        symbol.textContent = icon;
        button.append(symbol);
        button.addEventListener("click", act);
        buttons.append(button);
      };
      const words = this.root.dataset;
      if (this.most > 1) {
        add("arrow_upward", words.up, () => this.move(item, -1));
        add("arrow_downward", words.down, () => this.move(item, 1));
      }
      add("close", words.remove, () => this.remove(item));
      item.append(buttons);
    }

    move(item, by) {
      if (by < 0) item.previousElementSibling?.before(item);
      else item.nextElementSibling?.after(item);
      this.settle();
    }

    remove(item) {
      item.remove();
      this.input.disabled = false;
      this.settle();
      this.input.focus();
    }

    choose(choice) {
      if (this.most === 1) this.chosen.replaceChildren();
      const item = document.createElement("li");
      item.dataset.id = choice.id;
      const name = this.label(choice);
      name.className = "el-chosen-name";
      item.append(name);
      this.chosen.append(item);
      this.addButtons(item);
      this.input.value = "";
      this.close();
      this.settle();
    }

    label(choice) {
      const label = document.createElement("span");
      const dot = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      dot.setAttribute("viewBox", "0 0 10 10");
      dot.setAttribute("class", "el-type-dot");
      dot.setAttribute("aria-hidden", "true");
      const circle = document.createElementNS("http://www.w3.org/2000/svg", "circle");
      for (const [key, value] of Object.entries({ cx: 5, cy: 5, r: 5, fill: choice.color })) {
        circle.setAttribute(key, value);
      }
      dot.append(circle);
      const name = document.createElement("span");
      name.textContent = choice.text;
      const type = document.createElement("span");
      type.className = "el-named-type";
      type.textContent = choice.type;
      label.append(dot, name, type);
      return label;
    }

    wait() {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.look(), DELAY);
    }

    async look() {
      const turn = ++this.request;
      const address = new URL(this.root.dataset.choices, window.location.href);
      address.searchParams.set("term", this.input.value);
      let found;
      try {
        const answer = await fetch(address, { headers: { Accept: "application/json" } });
        if (!answer.ok) return;
        found = await answer.json();
      } catch {
        return;
      }
      if (turn !== this.request || document.activeElement !== this.input) return;
      const taken = new Set(this.ids);
      this.show(found.results.filter((choice) => !taken.has(choice.id)), found.pagination.more);
    }

    show(found, hasMore) {
      this.active = -1;
      this.choices.replaceChildren();
      found.forEach((choice, index) => {
        const option = document.createElement("li");
        option.id = `${this.choices.id}-${index}`;
        option.setAttribute("role", "option");
        option.setAttribute("aria-selected", "false");
        option.append(this.label(choice));
        option.addEventListener("mousedown", (event) => {
          event.preventDefault();
          this.choose(choice);
        });
        option.choose = () => this.choose(choice);
        this.choices.append(option);
      });
      this.status.textContent = found.length ? String(found.length) : this.root.dataset.none;
      if (!found.length || hasMore) {
        const note = document.createElement("li");
        note.className = "el-choices-note";
        note.setAttribute("role", "presentation");
        note.textContent = found.length ? this.root.dataset.more : this.root.dataset.none;
        this.choices.append(note);
      }
      this.choices.hidden = false;
      this.input.setAttribute("aria-expanded", "true");
    }

    close() {
      this.request += 1;
      this.choices.hidden = true;
      this.input.setAttribute("aria-expanded", "false");
      this.input.removeAttribute("aria-activedescendant");
    }

    onKey(event) {
      const options = [...this.choices.querySelectorAll("[role=option]")];
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        if (this.choices.hidden) {
          this.look();
          return;
        }
        const step = event.key === "ArrowDown" ? 1 : -1;
        this.active = (this.active + step + options.length) % Math.max(options.length, 1);
        options.forEach((option, index) => option.setAttribute("aria-selected", String(index === this.active)));
        if (options[this.active]) {
          this.input.setAttribute("aria-activedescendant", options[this.active].id);
          options[this.active].scrollIntoView({ block: "nearest" });
        }
      } else if (event.key === "Enter") {
        event.preventDefault();
        if (!this.choices.hidden && options[this.active]) options[this.active].choose();
      } else if (event.key === "Escape") {
        this.close();
      }
    }
  }

  for (const root of document.querySelectorAll(".el-picker")) new Picker(root);

  /* An open menu closes when the user clicks elsewhere. */
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll("details.el-add-menu[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });

  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && event.target.closest("details.el-add-menu[open]");
    if (!menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });

  // The theme shows the name of a chosen file in a field of its own markup, which these pages do not have.
  for (const input of document.querySelectorAll(".el-page input[type=file]")) input.hasChangeListener = true;
}
