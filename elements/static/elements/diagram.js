/* Pictures of diagrams: zoom, fit, full screen, and moving by mouse, touch and keyboard; the picture as a PNG file.
   Without this script, the picture can be scrolled and downloaded as SVG. */

"use strict";

{
  const STEP = 1.25;
  // A picture so much wider than high is printed in landscape.
  const WIDE = 1.3;
  const LEAST = 0.05;
  const MOST = 5;
  // Texts stay readable; a larger picture is scrolled.
  const READABLE = 0.6;
  // Movement in pixels that makes a click a move.
  const SLACK = 4;
  const MAX_SIDE = 16000;
  const MAX_PIXELS = 60e6;

  class DiagramView {
    constructor(root) {
      this.root = root;
      this.view = root.querySelector(".dg-view");
      this.svg = this.view.querySelector("svg");
      const [, , width, height] = this.svg.getAttribute("viewBox").split(" ").map(Number);
      this.size = { width, height };
      root.classList.toggle("dg-wide", width > height * WIDE);
      this.tools = root.querySelector(".dg-tools");
      this.tools.hidden = false;
      this.tools.addEventListener("click", (event) => {
        const button = event.target.closest("[data-act]");
        if (button) this.act(button.dataset.act);
      });
      this.view.addEventListener("keydown", (event) => this.onKey(event));
      this.view.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
      this.view.addEventListener("dragstart", (event) => event.preventDefault());
      this.view.addEventListener("pointerdown", (event) => this.onPress(event));
      this.view.addEventListener("touchstart", (event) => this.onTouch(event), { passive: false });
      this.view.addEventListener("touchmove", (event) => this.onPinch(event), { passive: false });
      root.addEventListener("fullscreenchange", () => this.fit());
      this.zoomTo(Math.min(1, Math.max(READABLE, this.fitting(this.view.clientWidth / width))));
      this.show(this.svg.querySelector(".selected") ?? this.svg.querySelector(".shape"));
    }

    act(name) {
      const acts = {
        in: () => this.zoomTo(this.scale * STEP),
        out: () => this.zoomTo(this.scale / STEP),
        fit: () => this.fit(),
        actual: () => this.zoomTo(1),
        full: () => this.toggleFull(),
        png: () => this.savePicture(),
      };
      acts[name]?.();
    }

    fitting(scale) {
      return Math.min(MOST, Math.max(LEAST, scale));
    }

    fit() {
      const { width, height } = this.size;
      const box = this.view.getBoundingClientRect();
      // Outside full screen the area is as high as its content, up to a part of the window.
      const room = this.isFull ? box.height : window.innerHeight * 0.8;
      this.zoomTo(Math.min((box.width - 4) / width, (room - 4) / height, 1.5));
    }

    /* Keep the point of the picture that is at (x, y) of the area, by default its middle. */
    zoomTo(scale, x = this.view.clientWidth / 2, y = this.view.clientHeight / 2) {
      const before = this.scale ?? 1;
      const left = this.view.scrollLeft + x;
      const top = this.view.scrollTop + y;
      this.scale = this.fitting(scale);
      this.svg.setAttribute("width", Math.round(this.size.width * this.scale));
      this.svg.setAttribute("height", Math.round(this.size.height * this.scale));
      const ratio = this.scale / before;
      this.view.scrollLeft = left * ratio - x;
      this.view.scrollTop = top * ratio - y;
      const canMove = this.view.scrollWidth > this.view.clientWidth || this.view.scrollHeight > this.view.clientHeight;
      this.view.classList.toggle("dg-can-move", canMove);
    }

    /* Move a shape into the middle, as far as the picture is larger than the area. */
    show(shape) {
      if (!shape) return;
      const [place, area] = [shape.getBoundingClientRect(), this.view.getBoundingClientRect()];
      this.view.scrollLeft += place.left + place.width / 2 - area.left - area.width / 2;
      this.view.scrollTop += place.top + place.height / 2 - area.top - area.height / 2;
    }

    /* The browser itself scrolls with the arrow keys. */
    onKey(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const name = { "+": "in", "=": "in", "-": "out", 0: "fit", 1: "actual", f: "full" }[event.key];
      if (name) {
        event.preventDefault();
        this.act(name);
      } else if (event.key === "Escape") {
        this.root.classList.remove("dg-full");
      }
    }

    onWheel(event) {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const box = this.view.getBoundingClientRect();
      const scale = this.scale * Math.exp(-Math.sign(event.deltaY) * Math.min(Math.abs(event.deltaY), 60) * 0.005);
      this.zoomTo(scale, event.clientX - box.left, event.clientY - box.top);
    }

    onPress(event) {
      if (event.pointerType !== "mouse" || event.button !== 0) return;
      const start = { x: event.clientX, y: event.clientY, left: this.view.scrollLeft, top: this.view.scrollTop };
      let hasMoved = false;
      const move = (each) => {
        const [x, y] = [each.clientX - start.x, each.clientY - start.y];
        hasMoved ||= Math.abs(x) + Math.abs(y) > SLACK;
        if (!hasMoved) return;
        this.view.classList.add("dg-moving");
        this.view.scrollLeft = start.left - x;
        this.view.scrollTop = start.top - y;
      };
      const end = () => {
        window.removeEventListener("pointermove", move);
        this.view.classList.remove("dg-moving");
        if (hasMoved) this.ignoreClick();
      };
      window.addEventListener("pointermove", move);
      window.addEventListener("pointerup", end, { once: true });
    }

    /* A move that ends on a link must not follow it. */
    ignoreClick() {
      const stop = (event) => event.preventDefault();
      this.view.addEventListener("click", stop, { capture: true, once: true });
      setTimeout(() => this.view.removeEventListener("click", stop, { capture: true }));
    }

    onTouch(event) {
      if (event.touches.length === 2) this.pinch = { distance: distance(event.touches), scale: this.scale };
    }

    onPinch(event) {
      if (event.touches.length !== 2 || !this.pinch) return;
      event.preventDefault();
      const box = this.view.getBoundingClientRect();
      const [one, other] = event.touches;
      const [x, y] = [(one.clientX + other.clientX) / 2 - box.left, (one.clientY + other.clientY) / 2 - box.top];
      this.zoomTo((this.pinch.scale * distance(event.touches)) / this.pinch.distance, x, y);
    }

    get isFull() {
      return document.fullscreenElement === this.root || this.root.classList.contains("dg-full");
    }

    toggleFull() {
      if (document.fullscreenElement) document.exitFullscreen();
      else if (this.root.requestFullscreen) this.root.requestFullscreen();
      else {
        // Phones without full screen for pages.
        this.root.classList.toggle("dg-full");
        this.fit();
      }
    }

    async savePicture() {
      const { width, height } = this.size;
      const scale = Math.min(2, MAX_SIDE / width, MAX_SIDE / height, Math.sqrt(MAX_PIXELS / (width * height)));
      const copy = this.svg.cloneNode(true);
      copy.setAttribute("width", width);
      copy.setAttribute("height", height);
      const image = new Image();
      image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
      await image.decode();
      const canvas = document.createElement("canvas");
      canvas.width = Math.ceil(width * scale);
      canvas.height = Math.ceil(height * scale);
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(blob);
        link.download = `${this.root.dataset.name}.png`;
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 10000);
      }, "image/png");
    }
  }

  const distance = ([one, other]) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);

  const begin = (scope) => {
    for (const root of scope.querySelectorAll("[data-diagram]:not([data-ready])")) {
      root.dataset.ready = "";
      if (root.querySelector(".dg-view > svg")) new DiagramView(root);
    }
  };

  begin(document);
  document.addEventListener("htmx:load", (event) => begin(event.target));
}
