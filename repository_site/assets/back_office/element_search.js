/* A search field for elements: the combobox pattern of ARIA, with a list below the field. */

"use strict";

class ElementSearch {
  /* `root` contains an input, a list and a status. `words.none` and `words.more` are texts of the list; `taken` returns
     the ids of elements that the list leaves out. `submit` gets Enter while no element of the list is active, and
     `isOther` returns whether a text is not a search. */
  constructor(root, { address, words, choose, taken = () => [], submit = () => {}, isOther = () => false }) {
    this.address = address;
    this.words = words;
    this.choose = choose;
    this.taken = taken;
    this.submit = submit;
    this.isOther = isOther;
    this.input = root.querySelector("input");
    this.choices = root.querySelector(".el-choices");
    this.status = root.querySelector("[role=status]");
    this.request = 0;
    this.active = -1;
    /* The list belongs to an older text. */
    this.isStale = false;
    this.input.addEventListener("input", () => this.wait());
    this.input.addEventListener("focus", () => this.look());
    this.input.addEventListener("blur", () => setTimeout(() => this.close(), 150));
    this.input.addEventListener("keydown", (event) => this.onKey(event));
  }

  static label(choice) {
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

  take(choice) {
    this.input.value = "";
    this.close();
    this.choose(choice);
  }

  wait() {
    clearTimeout(this.timer);
    this.isStale = true;
    this.activate(-1);
    this.timer = setTimeout(() => this.look(), ElementSearch.DELAY);
  }

  async look() {
    if (this.isOther(this.input.value)) return this.close();
    const turn = ++this.request;
    const address = new URL(this.address, window.location.href);
    address.searchParams.set("term", this.input.value);
    let found;
    try {
      const answer = await fetch(address, { headers: { Accept: "application/json" } });
      if (!answer.ok) return undefined;
      found = await answer.json();
    } catch {
      return undefined;
    }
    if (turn !== this.request || document.activeElement !== this.input) return undefined;
    const taken = new Set(this.taken());
    this.show(found.results.filter((choice) => !taken.has(choice.id)), found.pagination.more);
    return undefined;
  }

  get options() {
    return [...this.choices.querySelectorAll("[role=option]")];
  }

  activate(index) {
    this.active = index;
    this.options.forEach((option, place) => option.setAttribute("aria-selected", String(place === index)));
    const active = this.options[index];
    if (active) {
      this.input.setAttribute("aria-activedescendant", active.id);
      active.scrollIntoView({ block: "nearest" });
    } else {
      this.input.removeAttribute("aria-activedescendant");
    }
  }

  show(found, hasMore) {
    this.isStale = false;
    this.choices.replaceChildren();
    this.activate(-1);
    found.forEach((choice, index) => {
      const option = document.createElement("li");
      option.id = `${this.choices.id}-${index}`;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", "false");
      option.append(ElementSearch.label(choice));
      option.addEventListener("mousedown", (event) => {
        event.preventDefault();
        this.take(choice);
      });
      option.take = () => this.take(choice);
      this.choices.append(option);
    });
    this.status.textContent = found.length ? String(found.length) : this.words.none;
    if (!found.length || hasMore) {
      const note = document.createElement("li");
      note.className = "el-choices-note";
      note.setAttribute("role", "presentation");
      note.textContent = found.length ? this.words.more : this.words.none;
      this.choices.append(note);
    }
    this.choices.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
  }

  close() {
    clearTimeout(this.timer);
    this.request += 1;
    this.choices.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  onKey(event) {
    const { options } = this;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (this.choices.hidden || this.isStale) {
        this.look();
        return;
      }
      const step = event.key === "ArrowDown" ? 1 : -1;
      const from = this.active < 0 && step < 0 ? 0 : this.active;
      this.activate((from + step + options.length) % Math.max(options.length, 1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (!this.choices.hidden && options[this.active]) options[this.active].take();
      else this.submit();
    } else if (event.key === "Escape") {
      this.close();
    }
  }
}

ElementSearch.DELAY = 200;
