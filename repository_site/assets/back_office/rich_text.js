/* Formatted text in element forms (D442): the editor Trix, with tools that work by keyboard, links to elements, and the
   source of a value. Without this script, the field is a plain field for the source. */

"use strict";

if (window.Trix) {
  const { blockAttributes, textAttributes, lang } = Trix.config;
  for (const level of [1, 2, 3, 4, 5, 6]) {
    blockAttributes[`heading${level}`] = { tagName: `h${level}`, terminal: true, breakOnReturn: true, group: false };
  }
  // Each paragraph of a quotation is a block of its own.
  blockAttributes.quote.group = false;
  for (const mark of ["ins", "mark", "small", "sub", "sup", "kbd"]) textAttributes[mark] = { tagName: mark };
  Object.assign(textAttributes, { underline: { tagName: "u" }, monospace: { tagName: "code" } });

  // Trix joins paragraphs into one block with line breaks. Here Enter begins a paragraph, and Shift+Enter a line.
  Trix.Block.prototype.canBeConsolidatedWith = () => false;
  const { shouldInsertBlockBreak } = Trix.LineBreakInsertion.prototype;
  Trix.LineBreakInsertion.prototype.shouldInsertBlockBreak = function isBlockBreak() {
    return !this.block.hasAttributes() || shouldInsertBlockBreak.call(this);
  };

  const tools = document.getElementById("rich-text-tools");
  const words = tools?.dataset;
  const KEPT = "application/vnd.repository.kept";
  const ADDRESS = /^\s*(?:https?|mailto|tel):/i;
  if (words) lang.remove = words.remove;

  // The source of a table; the namespace is that of the whole value.
  const sourceOf = (table) => new XMLSerializer().serializeToString(table).replaceAll(' xmlns="http://www.w3.org/1999/xhtml"', "");

  const keep = (table) => {
    const figure = table.ownerDocument.createElement("figure");
    const attachment = { contentType: KEPT, content: table.outerHTML, kept: sourceOf(table) };
    figure.dataset.trixAttachment = JSON.stringify(attachment);
    return figure;
  };

  class LinkPanel {
    constructor(field, panel) {
      this.field = field;
      this.panel = panel;
      this.problem = panel.querySelector(".el-error");
      const list = panel.querySelector(".el-choices");
      list.id = `links-${field.name}`;
      this.input = panel.querySelector("input");
      this.input.setAttribute("aria-controls", list.id);
      new ElementSearch(panel.querySelector(".el-search"), {
        address: field.root.dataset.links,
        words,
        choose: (choice) => this.set(choice.address, choice.text),
        submit: () => this.setTyped(),
        isOther: (text) => ADDRESS.test(text),
      });
      const acts = { set: () => this.setTyped(), remove: () => this.remove(), cancel: () => this.close() };
      for (const button of panel.querySelectorAll("[data-do]")) button.addEventListener("click", acts[button.dataset.do]);
      panel.addEventListener("keydown", (event) => {
        if (event.key !== "Escape" || event.defaultPrevented) return;
        if (list.hidden || event.target !== this.input) this.close();
      }, true);
    }

    get editor() {
      return this.field.editor.editor;
    }

    toggle() {
      if (!this.panel.hidden) return this.close();
      const [start, end] = this.editor.getSelectedRange();
      const around = start === end && this.editor.getDocument().getRangeOfCommonAttributeAtPosition("href", start);
      this.range = around || [start, end];
      const current = this.editor.getDocument().getCommonAttributesAtRange(this.range).href ?? "";
      this.panel.querySelector("[data-do=remove]").hidden = !current;
      this.problem.hidden = true;
      this.show(true);
      this.input.value = current;
      this.input.focus();
      this.input.select();
      return undefined;
    }

    show(isShown) {
      this.panel.hidden = !isShown;
      this.field.toolbar.querySelector("[data-trix-action=x-link]").setAttribute("aria-expanded", String(isShown));
    }

    close() {
      this.show(false);
      this.field.editor.focus();
      this.editor.setSelectedRange(this.range);
    }

    setTyped() {
      const typed = this.input.value.trim();
      if (ADDRESS.test(typed)) return this.set(typed, typed);
      this.problem.textContent = words.noAddress;
      this.problem.hidden = false;
      this.input.focus();
      return undefined;
    }

    set(address, text) {
      const [start, end] = this.range;
      this.close();
      this.editor.recordUndoEntry("Link");
      if (start === end) {
        this.editor.insertString(text);
        this.editor.setSelectedRange([start, start + text.length]);
      }
      this.editor.activateAttribute("href", address);
      this.editor.setSelectedRange(start === end ? start + text.length : end);
      this.editor.deactivateAttribute("href");
    }

    remove() {
      this.close();
      this.editor.recordUndoEntry("Link");
      this.editor.deactivateAttribute("href");
    }
  }

  class RichText {
    constructor(root) {
      this.root = root;
      this.name = root.dataset.name;
      this.area = root.querySelector("textarea");
      this.note = root.querySelector(".el-rich-note");
      this.form = this.area.form;
      const given = root.querySelector("script[type='application/json']");
      this.build();
      if (given) this.load(JSON.parse(given.textContent));
      this.show(Boolean(given));
      this.listen();
    }

    build() {
      const parts = tools.content.cloneNode(true);
      const label = document.querySelector(`label[for="${this.area.id}"]`)?.textContent.trim() ?? "";
      this.id = this.area.id;
      this.toolbar = parts.querySelector("trix-toolbar");
      this.toolbar.id = `tools-${this.name}`;
      this.toolbar.setAttribute("aria-label", `${words.tools}: ${label}`);
      this.editor = document.createElement("trix-editor");
      const described = this.area.getAttribute("aria-describedby");
      const marks = { toolbar: this.toolbar.id, class: "el-rich-editor", "aria-label": label, "aria-multiline": "true", "aria-describedby": described };
      for (const [name, value] of Object.entries(marks)) this.editor.setAttribute(name, value);
      this.panel = parts.querySelector(".el-rich-link");
      this.switches = parts.querySelector(".el-rich-switch");
      this.box = document.createElement("div");
      this.box.className = "el-rich-box";
      this.area.before(this.box);
      this.box.append(this.toolbar, this.panel, this.editor);
      this.note.before(this.switches);
      this.links = new LinkPanel(this, this.panel);
      this.source = this.area.value;
    }

    listen() {
      this.form.addEventListener("formdata", (event) => {
        if (this.isShown && this.isChanged) event.formData.set(`rich-${this.name}`, this.document);
      });
      this.editor.addEventListener("trix-change", () => {
        if (this.isChanged) this.area.dispatchEvent(new Event("input", { bubbles: true }));
      });
      this.editor.addEventListener("trix-action-invoke", () => this.links.toggle());
      this.editor.addEventListener("trix-file-accept", (event) => event.preventDefault());
      for (const kind of ["trix-attributes-change", "trix-actions-change", "trix-focus", "trix-selection-change"]) {
        this.editor.addEventListener(kind, () => this.updateTools());
      }
      this.updateTools();
      this.box.addEventListener("input", () => this.render());
      // Ahead of Trix: it takes the key Tab in lists, and the clipboard.
      this.box.addEventListener("keydown", (event) => event.key === "Tab" && event.stopPropagation(), true);
      this.box.addEventListener("paste", (event) => this.onPaste(event), true);
      this.box.addEventListener("dragstart", () => { this.isDragged = true; }, true);
      this.box.addEventListener("dragend", () => { this.isDragged = false; }, true);
      this.box.addEventListener("drop", (event) => this.onDrop(event), true);
      this.toolbar.addEventListener("keydown", (event) => this.onToolKey(event));
      // Trix listens to the mouse only.
      this.toolbar.addEventListener("click", (event) => {
        const button = event.target.closest("button");
        if (button && event.detail === 0) button.dispatchEvent(new MouseEvent("mousedown", { bubbles: true, cancelable: true }));
      });
      this.switches.querySelector("[data-do=source]").addEventListener("click", () => this.showSource());
      this.switches.querySelector("[data-do=text]").addEventListener("click", () => this.showText());
    }

    // Trix renders with the next frame. On a slow computer, the next key comes earlier: Trix would put its character at
    // the wrong place, or forget a format that it has switched.
    render() {
      const { inputController } = this.editor.editorController;
      if (inputController.scheduledRender && !inputController.composing) inputController.render();
    }

    get document() {
      // The server has the content of tables already.
      return JSON.stringify(this.editor.editor.getDocument(), (key, value) => (key === "content" ? undefined : value));
    }

    get isChanged() {
      return this.document !== this.unchanged;
    }

    load(given) {
      this.editor.editor.loadJSON({ document: given, selectedRange: [0, 0] });
      this.unchanged = this.document;
    }

    show(isText) {
      this.isShown = isText;
      this.box.hidden = !isText;
      this.area.hidden = isText;
      // Labels and links to errors lead to the part that is shown.
      (isText ? this.area : this.editor).id = `other-${this.name}`;
      (isText ? this.editor : this.area).id = this.id;
      this.switches.querySelector("[data-do=source]").hidden = !isText;
      this.switches.querySelector("[data-do=text]").hidden = isText;
    }

    async convert(given) {
      const token = this.form.querySelector("[name=csrfmiddlewaretoken]").value;
      const body = new URLSearchParams(given);
      try {
        const answer = await fetch(words.convert, { method: "POST", body, headers: { "X-CSRFToken": token } });
        if (answer.ok && !answer.redirected) return await answer.json();
      } catch {
        // Shown below.
      }
      return { note: words.failed };
    }

    async showSource() {
      if (this.isChanged) {
        const { source, note } = await this.convert({ document: this.document });
        if (source === undefined) return this.say(note);
        this.area.value = source;
      }
      this.source = this.area.value;
      this.say("");
      this.show(false);
      this.area.focus();
      return undefined;
    }

    async showText() {
      if (this.unchanged === undefined || this.area.value !== this.source) {
        const { document: given, note } = await this.convert({ source: this.area.value });
        if (!given) return this.say(note);
        this.load(given);
      }
      this.say("");
      this.show(true);
      this.editor.focus();
      return undefined;
    }

    say(text) {
      this.note.textContent = text;
    }

    updateTools() {
      const buttons = [...this.toolbar.querySelectorAll("button")];
      for (const button of buttons) {
        if (button.dataset.trixAttribute) button.setAttribute("aria-pressed", String("trixActive" in button.dataset));
      }
      const entered = buttons.find((button) => button.tabIndex === 0 && !button.disabled) ?? buttons.find((button) => !button.disabled);
      for (const button of buttons) button.tabIndex = button === entered ? 0 : -1;
    }

    // The tools are one stop of the key Tab; the arrow keys move between them.
    onToolKey(event) {
      const buttons = [...this.toolbar.querySelectorAll("button:not(:disabled)")];
      const at = buttons.indexOf(document.activeElement);
      const last = buttons.length - 1;
      const next = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at < 1 ? last : at - 1, Home: 0, End: last }[event.key];
      if (next === undefined || at < 0) return;
      event.preventDefault();
      for (const button of this.toolbar.querySelectorAll("button")) button.tabIndex = button === buttons[next] ? 0 : -1;
      buttons[next].focus();
    }

    onPaste(event) {
      if (this.panel.contains(event.target)) return;
      event.preventDefault();
      event.stopPropagation();
      this.insert(event.clipboardData);
    }

    onDrop(event) {
      const isOwn = this.isDragged;
      this.isDragged = false;
      if (isOwn) return;
      event.preventDefault();
      event.stopPropagation();
      this.editor.editor.composition.setLocationRangeFromPointRange?.({ x: event.clientX, y: event.clientY });
      this.insert(event.dataTransfer);
    }

    insert(transfer) {
      const { editor } = this.editor;
      const html = transfer.getData("text/html");
      const text = transfer.getData("text/plain");
      if (!html && !text) return;
      editor.recordUndoEntry("Paste");
      if (html) editor.insertHTML(PastedText.clean(html, keep));
      else if (/[\r\n]/.test(text.trim())) editor.insertHTML(PastedText.paragraphs(text));
      else editor.insertString(text);
    }
  }

  if (tools) {
    customElements.whenDefined("trix-editor").then(() => {
      for (const root of document.querySelectorAll(".el-rich")) new RichText(root);
    });
  }
}
