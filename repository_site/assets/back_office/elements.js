/* The picker for elements: a sortable list of chosen elements, and a search field (element_search.js). */

"use strict";

{
  class Picker {
    constructor(root) {
      this.root = root;
      this.value = root.querySelector("input[type=hidden]");
      this.chosen = root.querySelector(".el-chosen");
      this.search = root.querySelector(".el-search");
      this.input = this.search.querySelector("input");
      this.most = Number(root.dataset.most);
      this.search.hidden = false;
      for (const item of this.chosen.children) this.addButtons(item);
      new ElementSearch(this.search, {
        address: root.dataset.choices,
        words: root.dataset,
        choose: (choice) => this.choose(choice),
        taken: () => this.ids,
      });
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
      const name = ElementSearch.label(choice);
      name.className = "el-chosen-name";
      item.append(name);
      this.chosen.append(item);
      this.addButtons(item);
      this.settle();
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

  /* A page that waits for a background job looks again. */
  if (document.querySelector("[data-look-again]")) setTimeout(() => location.reload(), 3000);
}
