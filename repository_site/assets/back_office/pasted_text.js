/* Pasted text: only the structure that the editor shows remains (D443).

   The editor of the theme would read the clipboard itself, but its version has known faults there. So this reads the
   clipboard in a document of its own, where nothing runs or loads, and writes allowed elements again. */

"use strict";

class PastedText {
  static LEFT_OUT = new Set("script style title head meta link iframe object embed template noscript svg math select button input textarea".split(" "));
  static BLOCKS = new Set("p div h1 h2 h3 h4 h5 h6 ul ol li blockquote pre".split(" "));
  // Their texts are paragraphs; otherwise the last word of one and the first word of the next would be one word.
  static PARAGRAPHS = new Set("address article aside dd details dt fieldset figcaption figure footer form header main nav section summary td th tr".split(" "));
  static MARKS = { b: "strong", strong: "strong", i: "em", em: "em", u: "u", s: "del", strike: "del", del: "del", ins: "ins", mark: "mark", sub: "sub", sup: "sup", code: "code", kbd: "kbd" };
  static TABLES = new Set("table caption colgroup col thead tbody tfoot tr th td".split(" "));
  static SPANS = ["colspan", "rowspan", "scope"];
  static FOLLOWED = /^\s*(?:https?|mailto|tel):/i;
  static MARKER = /^\s*(?:\(?(?:\d+|[a-z]|[ivx]+)[.)])\s*$/i;

  /* Return markup for the editor; `keep` makes the element that represents a table. */
  static clean(html, keep) {
    const given = new DOMParser().parseFromString(html, "text/html");
    const made = document.implementation.createHTMLDocument("");
    const pasted = new PastedText(made, keep);
    pasted.copyAll(given.body, made.body);
    return made.body.innerHTML;
  }

  /* Return the lines of a plain text as paragraphs; a blank line only separates them. */
  static paragraphs(text) {
    const made = document.implementation.createHTMLDocument("");
    for (const line of text.split(/\r\n?|\n/)) {
      if (!line.trim()) continue;
      const paragraph = made.createElement("div");
      paragraph.textContent = line;
      made.body.append(paragraph);
    }
    return made.body.innerHTML;
  }

  static isBlock(element) {
    const tag = element.localName;
    return tag === "table" || PastedText.BLOCKS.has(tag) || PastedText.PARAGRAPHS.has(tag);
  }

  constructor(made, keep) {
    this.made = made;
    this.keep = keep;
    this.isInTable = false;
  }

  copyAll(from, to) {
    for (const node of from.childNodes) {
      if (node.nodeType === Node.TEXT_NODE) to.append(this.made.createTextNode(node.data));
      else if (node.nodeType === Node.ELEMENT_NODE) this.copy(node, to);
    }
  }

  copy(element, to) {
    const tag = element.localName;
    const style = element.getAttribute("style") ?? "";
    if (PastedText.LEFT_OUT.has(tag) || /display:\s*none|mso-hide:\s*all|mso-list:\s*ignore/i.test(style)) return;
    if (tag === "br") {
      to.append(this.made.createElement("br"));
    } else if (tag === "table" && !this.isInTable) {
      this.isInTable = true;
      to.append(this.keep(this.table(element)));
      this.isInTable = false;
    } else if (tag === "p" && /mso-list:/i.test(style)) {
      this.copyListParagraph(element, to);
    } else if (PastedText.BLOCKS.has(tag)) {
      this.copyInto(this.made.createElement(tag), element, to);
    } else if (PastedText.PARAGRAPHS.has(tag) && ![...element.children].some(PastedText.isBlock)) {
      this.copyInto(this.made.createElement("div"), element, to);
    } else if (tag === "a" && PastedText.FOLLOWED.test(element.getAttribute("href") ?? "")) {
      const link = this.made.createElement("a");
      link.setAttribute("href", element.getAttribute("href").trim());
      this.copyInto(link, element, to);
    } else {
      this.copyMarked(element, style, to);
    }
  }

  copyInto(made, element, to) {
    this.copyAll(element, made);
    to.append(made);
  }

  /* Word processors mark text by styles, and enclose everything in a bold element without bold text. */
  copyMarked(element, style, to) {
    const isPlain = /(?<![\w-])font-weight:\s*(?:normal|400)/i.test(style);
    const marks = new Set(PastedText.MARKS[element.localName] ? [PastedText.MARKS[element.localName]] : []);
    if (isPlain) marks.delete("strong");
    if (/(?<![\w-])font-weight:\s*(?:bold|[6-9]00)/i.test(style)) marks.add("strong");
    if (/(?<![\w-])font-style:\s*(?:italic|oblique)/i.test(style)) marks.add("em");
    if (/text-decoration[a-z-]*:[^;]*line-through/i.test(style)) marks.add("del");
    let inner = to;
    for (const mark of marks) {
      const made = this.made.createElement(mark);
      inner.append(made);
      inner = made;
    }
    this.copyAll(element, inner);
  }

  /* Word writes items of lists as paragraphs that begin with a bullet or a number. */
  copyListParagraph(element, to) {
    const marker = [...element.querySelectorAll("[style]")].find((part) => /mso-list:\s*ignore/i.test(part.getAttribute("style")));
    const tag = marker && PastedText.MARKER.test(marker.textContent.replace(/\u00a0/g, " ")) ? "ol" : "ul";
    const list = to.lastElementChild?.localName === tag && !to.lastElementChild.nextSibling?.data?.trim() ? to.lastElementChild : this.made.createElement(tag);
    this.copyInto(this.made.createElement("li"), element, list);
    to.append(list);
  }

  table(element) {
    const made = this.made.createElement(element.localName);
    for (const name of PastedText.SPANS) {
      const value = element.getAttribute(name);
      if (value && /^[a-z0-9]{1,8}$/i.test(value)) made.setAttribute(name, value);
    }
    if (element.matches("td, th, caption")) {
      this.copyAll(element, made);
    } else {
      for (const part of element.children) if (PastedText.TABLES.has(part.localName)) made.append(this.table(part));
    }
    return made;
  }
}
