/* Pages that test a part of a large storage: "Continue" tests the next parts until one of them finds something. */

"use strict";

{
  class Search {
    constructor(note) {
      this.status = note.querySelector("[role=status]");
      this.link = note.querySelector("a");
      this.tested = Number(note.dataset.portion);
      this.words = this.link.textContent;
      this.isRunning = false;
      this.link.addEventListener("click", (event) => {
        event.preventDefault();
        if (this.isRunning) this.stop();
        else this.run();
      });
    }

    stop() {
      this.isRunning = false;
      this.link.textContent = this.words;
    }

    async run() {
      this.isRunning = true;
      this.link.textContent = this.link.dataset.stop;
      while (this.isRunning) {
        const part = await this.read();
        if (!part) return;
        this.tested += Number(part.dataset.portion);
        this.link.href = part.dataset.next;
        const number = this.tested.toLocaleString(document.documentElement.lang);
        this.status.textContent = `${this.status.dataset.progress} ${number}`;
      }
    }

    /* Return the note of the next part, or open its page: it has elements, it is the last one, or it has failed. */
    async read() {
      try {
        const response = await fetch(this.link.href);
        const page = new DOMParser().parseFromString(await response.text(), "text/html");
        const part = page.querySelector("[data-portion]");
        if (response.ok && part && !part.dataset.found) return part;
      } catch {
        // The page itself shows what is wrong.
      }
      if (this.isRunning) location.assign(this.link.href);
      return null;
    }
  }

  const note = document.querySelector("[data-portion]");
  if (note) new Search(note);
}
