"use strict";
// The values of a row: pictures and long texts first, in full width, then the others side by side.

const LONG = 80;
const CUT_AT = 300; // of texts on the page; a server has them in full
const MOST_SHORT = 24;
const ADDRESS = /^https?:\/\/\S+$/i;

class RowValues {
  #full = new Map(); // values of rows, not cut
  #shown = null;
  #isOpen = false; // whether all short values are shown

  // The columns of the page, its rows, which columns hold pictures, and whether a server has rows in
  // full.
  constructor({ columns, pictures, id }, rows, { served }) {
    this.columns = columns;
    this.id = id; // is in the title
    this.served = served;
    const kindOf = (name, place) => {
      if (pictures.includes(name)) return "picture";
      return rows.some((row) => row.values[place].length > LONG) ? "text" : "short";
    };
    this.kinds = columns.map(kindOf);
    byId("more-values").addEventListener("click", () => {
      this.#isOpen = !this.#isOpen;
      this.#showShort(this.#shown);
    });
  }

  async show(row, telling = []) {
    if (row !== this.#shown) this.#showPictures(row); // once for a row: they are fetched
    this.#shown = row;
    this.telling = telling;
    this.#showWords(row);
    await this.fetch(row);
    if (row !== null && this.#full.has(row.number) && this.#shown === row) this.#showWords(row);
  }

  // Names of columns, those first whose values say most about the label.
  mark(row, telling) {
    if (this.#shown !== row) return;
    this.telling = telling;
    this.#showShort(row);
  }

  isText = (name) => this.kinds[this.columns.indexOf(name)] === "text";

  valuesOf = (row) => this.#full.get(row.number) ?? row.values;

  static isCut = (text) => text.length === CUT_AT && text.endsWith("…");

  // Have the texts of a row in full, if they are not and a server has them.
  async fetch(row) {
    if (row === null || !this.served || this.#full.has(row.number)) return;
    if (!row.values.some(RowValues.isCut)) return;
    try {
      const answer = await fetch(`row?row=${row.number}`);
      if (answer.status !== 200) return;
      this.#full.set(row.number, (await answer.json()).values);
    } catch {
      // What is cut stays cut; saving says that the server is gone.
    }
  }

  // Names and values of the columns of a kind.
  #of(row, kind) {
    if (row === null) return [];
    const values = this.valuesOf(row);
    return this.columns.map((name, place) => [name, values[place]])
      .filter((_, place) => this.kinds[place] === kind);
  }

  #showPictures(row) {
    const pictures = this.#of(row, "picture").filter(([, text]) => text !== "")
      .map(([name, text]) => this.#picture(row, name, text));
    byId("pictures").replaceChildren(...pictures);
    byId("pictures").hidden = pictures.length === 0;
  }

  #showWords(row) {
    const texts = this.#of(row, "text").filter(([, text]) => text !== "").map(([name, text]) =>
      make("section", {}, make("h4", {}, name), make("p", { class: "text" }, RowValues.#cell(text))));
    byId("texts").replaceChildren(...texts);
    byId("texts").hidden = texts.length === 0;
    this.#showShort(row);
  }

  // Of very many, those that say most, or the first ones.
  #showShort(row) {
    const values = this.#of(row, "short").filter(([name]) => name !== this.id);
    const rank = (name) => {
      const place = this.telling.indexOf(name);
      return place < 0 ? this.telling.length : place;
    };
    const isMany = values.length > MOST_SHORT;
    let shown = values;
    if (isMany && !this.#isOpen) {
      shown = [...values].sort(([one], [other]) => rank(one) - rank(other)).slice(0, MOST_SHORT);
    }
    byId("values").hidden = shown.length === 0;
    byId("values").replaceChildren(...shown.map(([name, text]) => {
      const attributes = this.telling.slice(0, 3).includes(name) ? { class: "telling" } : {};
      return make("div", attributes, make("dt", {}, ...breakable(name)), make("dd", {}, RowValues.#cell(text)));
    }));
    byId("more-values").hidden = !isMany;
    byId("more-values").textContent =
      this.#isOpen ? `Show ${MOST_SHORT} values` : `Show all ${values.length} values`;
  }

  #picture(row, name, text) {
    const address = `picture?row=${row.number}&column=${encodeURIComponent(name)}`;
    const image = make("img", { src: address, alt: `${name}: ${text}` });
    image.addEventListener("error", () => {
      image.closest("figure")?.replaceChildren(
        make("figcaption", { class: "warn" }, `${name}: ${text} cannot be shown as a picture.`),
      );
    });
    const link = make("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, image);
    return make("figure", {}, link, make("figcaption", {}, `${name}: ${text}`));
  }

  // Only addresses of the web become links; anything else is a text.
  static #cell(text) {
    if (!ADDRESS.test(text) || RowValues.isCut(text)) return text;
    return make("a", { href: text, target: "_blank", rel: "noopener noreferrer" }, text);
  }
}
