/* The files of an attribute: a list with previews, and uploads. The text below the list is what the form sends. */

"use strict";

{
  const STORED = "repository";
  const SHOWN = ["image/png", "image/jpeg", "image/gif", "image/webp"];
  // Larger pictures are not loaded only to be shown in a corner.
  const LARGEST_PREVIEW = 2 * 1024 * 1024;

  function make(name, options = {}, ...children) {
    const made = Object.assign(document.createElement(name), options);
    made.append(...children);
    return made;
  }

  class FilesField {
    constructor(root) {
      this.root = root;
      this.words = root.dataset;
      this.area = root.querySelector("textarea");
      this.list = root.querySelector(".el-file-list");
      this.source = root.querySelector(".el-file-source");
      this.adding = root.querySelector(".el-file-add");
      this.input = this.adding.querySelector("input");
      this.status = this.adding.querySelector("[role=status]");
      this.area.addEventListener("change", () => this.show());
      this.input.addEventListener("change", () => this.upload([...this.input.files]));
      for (const kind of ["dragover", "drop"]) {
        root.addEventListener(kind, (event) => {
          // Text is dropped into fields as everywhere.
          if (!event.dataTransfer.types.includes("Files")) return;
          event.preventDefault();
          if (kind === "drop") this.upload([...event.dataTransfer.files]);
        });
      }
      this.adding.hidden = false;
      this.source.open = !this.show();
    }

    /* Return the files of the text, or null if the text is not a list. */
    read() {
      try {
        const found = this.area.value.trim() ? JSON.parse(this.area.value) : [];
        return Array.isArray(found) && found.every((each) => each && typeof each === "object") ? found : null;
      } catch {
        return null;
      }
    }

    store(files) {
      this.area.value = files.length ? JSON.stringify(files, null, 2) : "";
      this.area.dispatchEvent(new Event("input", { bubbles: true }));
    }

    write(files) {
      this.store(files);
      this.show();
    }

    /* Show the list; return whether the text can be shown as one. */
    show() {
      const files = this.read();
      this.list.replaceChildren(...(files || []).map((file, place) => this.item(file, place, files)));
      this.adding.hidden = files === null;
      return files !== null;
    }

    address(file) {
      if (file.protocol === STORED) return `${this.words.address}/${encodeURIComponent(file.address)}`;
      return /^https?:\/\//.test(file.fullAddress || "") ? file.fullAddress : "";
    }

    item(file, place, files) {
      const address = this.address(file), name = file.title || file.address || "";
      const line = make("span", { className: "el-chosen-name el-file" });
      if (file.protocol === STORED && SHOWN.includes(file.mimeType) && (file.size || 0) <= LARGEST_PREVIEW) {
        line.append(make("img", { src: address, alt: "", loading: "lazy", className: "el-file-preview" }));
      }
      const title = make("input", { type: "text", value: name });
      title.setAttribute("aria-label", `${this.words.title}: ${name}`);
      title.addEventListener("change", () => {
        // The list stays as it is: the focus is moving to another part of it.
        files[place].title = title.value;
        this.store(files);
      });
      line.append(title);
      if (address) line.append(make("a", { href: address, rel: "noopener noreferrer", target: "_blank" }, this.about(file)));
      const buttons = make("span", { className: "el-chosen-buttons" });
      buttons.append(
        this.button("arrow_upward", `${this.words.up}: ${name}`, place === 0, () => this.move(files, place, place - 1)),
        this.button("arrow_downward", `${this.words.down}: ${name}`, place === files.length - 1, () =>
          this.move(files, place, place + 1),
        ),
        this.button("close", `${this.words.remove}: ${name}`, false, () => {
          this.write(files.filter((each) => each !== file));
          (this.list.querySelectorAll("input")[Math.max(0, place - 1)] || this.input).focus();
        }),
      );
      return make("li", {}, line, buttons);
    }

    about(file) {
      const size = file.size === undefined ? "" : this.bytes(file.size);
      return [file.mimeType, size].filter(Boolean).join(", ") || file.address;
    }

    bytes(size) {
      const [unit, by] = size < 1e3 ? ["byte", 1] : size < 1e6 ? ["kilobyte", 1e3] : ["megabyte", 1e6];
      const format = { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: 1 };
      return new Intl.NumberFormat(document.documentElement.lang || undefined, format).format(size / by);
    }

    button(icon, text, isDisabled, act) {
      const made = make("button", { type: "button", title: text, disabled: isDisabled });
      made.setAttribute("aria-label", text);
      const sign = make("span", { className: "material-symbols-outlined" }, icon);
      sign.setAttribute("aria-hidden", "true");
      made.append(sign);
      made.addEventListener("click", act);
      return made;
    }

    move(files, from, to) {
      files.splice(to, 0, ...files.splice(from, 1));
      this.write(files);
      this.list.children[to].querySelector("input").focus();
    }

    async upload(chosen) {
      this.input.value = "";
      const said = [];
      for (const file of chosen) {
        this.status.textContent = `${file.name}: ${this.words.uploading}`;
        said.push(`${file.name}: ${await this.send(file)}`);
      }
      this.status.textContent = said.join(" ");
    }

    /* Messages about the upload itself are in the language of the page; those of every request are English. */
    problem(status, message) {
      if (status === 401 || status === 403) return this.words.denied;
      if (status === 429) return this.words.busy;
      return message || this.words.failed;
    }

    /* Upload a file and add it; return what to tell about it. */
    async send(file) {
      if (file.size > Number(this.words.most)) return this.words.large;
      const headers = {
        Accept: "application/json",
        "Content-Type": file.type || "application/octet-stream",
        "X-Page-Language": document.documentElement.lang,
        "X-CSRFToken": this.root.closest("form").querySelector("input[name=csrfmiddlewaretoken]").value,
      };
      const address = `${this.words.address}?name=${encodeURIComponent(file.name)}`;
      let found;
      try {
        const response = await fetch(address, { method: "POST", body: file, headers });
        found = await response.json();
        if (!response.ok) return this.problem(response.status, found.message);
      } catch {
        return this.words.failed;
      }
      const [stored] = found.values, files = this.read();
      // Somebody has typed into the text meanwhile.
      if (files === null) return this.words.failed;
      const added = { address: stored.id, mimeType: stored.mimeType, protocol: STORED, size: stored.size, title: stored.name };
      this.write([...files, added]);
      return this.words.added;
    }
  }

  for (const root of document.querySelectorAll(".el-files")) new FilesField(root);
}
