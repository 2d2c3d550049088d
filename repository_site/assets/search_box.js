/* Search boxes that offer places while somebody types: the header of reader pages, and Ctrl+K in the back office (D403).
   The combobox pattern of ARIA: the focus stays in the field, and the arrow keys choose an option of the list below it.
   Without this script, the field is a plain search field of its form. */

"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const DELAY = 150;

  class SearchBox {
    constructor(input) {
      this.input = input;
      this.list = document.getElementById(input.dataset.list);
      this.status = document.getElementById(input.dataset.status);
      /* A box with the mark chooses the first option by itself; elsewhere Enter sends the form. */
      this.first = "first" in input.dataset ? 0 : -1;
      this.turn = 0;
      this.active = -1;
      /* The list does not fit the text yet. */
      this.isPending = false;
      /* Enter was pressed before the list was there. */
      this.isHurried = false;
      const marks = { role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": this.list.id };
      for (const [name, value] of Object.entries({ ...marks, autocomplete: "off" })) input.setAttribute(name, value);
      input.addEventListener("input", () => this.wait());
      input.addEventListener("keydown", (event) => this.onKey(event));
      input.addEventListener("blur", () => this.close());
      /* A press of the mouse must not take the focus from the field, which would close the list. */
      this.list.addEventListener("mousedown", (event) => event.preventDefault());
      this.list.addEventListener("click", (event) => this.go(event.target.closest("[role=option]")));
    }

    get options() {
      return [...this.list.children];
    }

    wait() {
      clearTimeout(this.timer);
      /* An answer that is on its way belongs to an older text. */
      this.turn += 1;
      this.isPending = true;
      this.isHurried = false;
      /* The option that was chosen belongs to an older text, too: Enter must not go there. */
      this.activate(Math.min(this.active, this.first));
      this.timer = setTimeout(() => this.look(), DELAY);
    }

    async look() {
      const turn = ++this.turn;
      if (!this.input.value.trim()) {
        this.close();
        return;
      }
      const address = new URL(this.input.dataset.options, window.location.href);
      address.searchParams.set(this.input.name, this.input.value);
      const found = await this.fetched(address);
      if (turn !== this.turn) return;
      if (found && document.activeElement === this.input) this.show(found);
      else this.close();
    }

    async fetched(address) {
      try {
        const answer = await fetch(address);
        /* If the session has ended, the answer is the page to sign in. */
        if (!answer.ok || answer.redirected) return null;
        return new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-status]");
      } catch {
        return null;
      }
    }

    show(found) {
      this.list.replaceChildren(...found.children);
      this.options.forEach((option, index) => { option.id = `${this.list.id}-${index}`; });
      this.status.textContent = found.dataset.status;
      this.list.hidden = !this.options.length;
      this.input.setAttribute("aria-expanded", String(!this.list.hidden));
      this.activate(this.first);
      this.isPending = false;
      if (this.isHurried) this.go(this.options[0]);
      this.isHurried = false;
    }

    close() {
      clearTimeout(this.timer);
      this.isPending = this.isHurried = false;
      this.turn += 1;
      this.list.replaceChildren();
      this.list.hidden = true;
      this.status.textContent = "";
      this.input.setAttribute("aria-expanded", "false");
      this.activate(-1);
    }

    activate(index) {
      this.active = index;
      this.options.forEach((option, place) => option.setAttribute("aria-selected", String(place === index)));
      const chosen = this.options[index];
      if (chosen) {
        this.input.setAttribute("aria-activedescendant", chosen.id);
        chosen.scrollIntoView({ block: "nearest" });
      } else {
        this.input.removeAttribute("aria-activedescendant");
      }
    }

    go(option) {
      if (option) window.location.assign(option.dataset.address);
    }

    onKey(event) {
      const { length } = this.options;
      if (event.isComposing) return;
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        if (!length) this.look();
        /* One place more than there are options: the text itself, with no option chosen. */
        else if (event.key === "ArrowDown") this.activate(this.active + 1 < length ? this.active + 1 : this.first);
        else this.activate(this.active > this.first ? this.active - 1 : length - 1);
      } else if (event.key === "Enter" && this.first === 0) {
        event.preventDefault();
        if (this.isPending) this.isHurried = true;
        else this.go(this.options[this.active]);
      } else if (event.key === "Enter" && this.options[this.active]) {
        event.preventDefault();
        this.go(this.options[this.active]);
      } else if (event.key === "Escape" && length) {
        /* The first press closes the list, the second one is for the field or the dialog. */
        event.preventDefault();
        this.close();
      }
    }
  }

  for (const input of document.querySelectorAll("input[data-options]")) new SearchBox(input);

  const dialog = document.querySelector("dialog[data-search]");
  if (!dialog) return;
  const open = () => {
    if (!dialog.open) dialog.showModal();
    const input = dialog.querySelector("input");
    input.focus();
    input.select();
  };
  document.addEventListener("keydown", (event) => {
    if (event.key?.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    /* Editors of rich text have their own meaning of the keys. */
    if (event.defaultPrevented || document.activeElement?.isContentEditable) return;
    event.preventDefault();
    open();
  });
  for (const button of document.querySelectorAll("[data-opens-search]")) button.addEventListener("click", open);
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
});
