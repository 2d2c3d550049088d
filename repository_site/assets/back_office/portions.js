/* Pages that test a part of a large storage: the link tests the next parts until one of them finds something. */

"use strict";

{
  class Search {
    constructor(note) {
      this.status = note.querySelector("[role=status]");
      this.link = note.querySelector("a");
      this.tested = Number(note.dataset.portion);
      this.words = this.link.textContent;
      this.run = null;
      this.link.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        // The second click of a double click must not stop.
        if (event.detail > 1) return;
        if (this.run) this.stop();
        else this.start();
      });
      // The page may be shown again after going back.
      window.addEventListener("pageshow", () => this.stop());
    }

    stop() {
      this.run?.abort();
      this.run = null;
      this.link.textContent = this.words;
      this.link.removeAttribute("role");
    }

    async start() {
      const run = (this.run = new AbortController());
      this.link.textContent = this.link.dataset.stop;
      this.link.setAttribute("role", "button");
      while (!run.signal.aborted) {
        const part = await this.read(run.signal);
        if (run.signal.aborted) return;
        if (!part) {
          // Its page has elements, it is the last one, or it shows what is wrong.
          location.assign(this.link.href);
          return;
        }
        this.tested += Number(part.dataset.portion);
        this.link.href = part.dataset.next;
        const number = this.tested.toLocaleString(document.documentElement.lang);
        this.status.textContent = `${this.status.dataset.progress} ${number}`;
      }
    }

    /* Return the note of the next part if nothing was found in it. */
    async read(signal) {
      try {
        const response = await fetch(this.link.href, { signal });
        const page = new DOMParser().parseFromString(await response.text(), "text/html");
        const part = page.querySelector("[data-portion]");
        return response.ok && part && !part.dataset.found ? part : null;
      } catch {
        return null;
      }
    }
  }

  const note = document.querySelector("[data-portion]");
  if (note) new Search(note);
}
