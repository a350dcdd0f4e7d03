"use strict";
// The list of all doubtful rows, a page at a time: thousands of rows would make a browser slow.

class RowList {
  static #PAGE = 25;

  // rows as settle.js has them, and which columns they have besides those of every table; the label
  // a row is settled on, if any; whether it has the doubt that is wanted; and what to do with a row
  // that is chosen.
  constructor(rows, { hasNames, hasMisses }, { settledLabel, hasWantedDoubt, open }) {
    this.rows = rows;
    this.hasNames = hasNames;
    this.hasMisses = hasMisses;
    this.settledLabel = settledLabel;
    this.hasWantedDoubt = hasWantedDoubt;
    this.open = open;
    this.first = 0;
    this.listed = rows;
    this.texts = new Map(rows.map((row) => [row, null])); // what is searched, made when needed
    this.keys = {
      number: (row) => row.number,
      name: (row) => row.name,
      chosen: (row) => row.labels[0],
      confidence: (row) => row.confidences[0],
      candidates: (row) => row.labels.length,
      doubt: (row) => -(row.miss?.probability ?? 0),
      decision: (row) => settledLabel(row) ?? "",
    };
    byId("list-filter").addEventListener("input", () => this.arrange());
    byId("list-before").addEventListener("click", () => this.#turn(-1));
    byId("list-after").addEventListener("click", () => this.#turn(1));
    for (const header of byId("list").querySelectorAll("th[data-key]")) {
      header.firstElementChild.addEventListener("click", () => this.#sortBy(header));
    }
  }

  show() {
    const last = Math.min(this.first + RowList.#PAGE, this.listed.length);
    const shown = this.listed.slice(this.first, last);
    byId("list").tBodies[0].replaceChildren(...shown.map((row) => this.#line(row)));
    byId("list-count").textContent = this.listed.length
      ? `${this.first + 1} to ${last} of ${this.listed.length} rows` : "No row matches.";
    byId("list-before").disabled = this.first === 0;
    byId("list-after").disabled = last >= this.listed.length;
  }

  #line(row) {
    const button = make("button", { type: "button" }, String(row.number));
    button.addEventListener("click", () => this.open(row));
    const candidates = row.labels.map((label, i) => `${label} ${percent(row.confidences[i])}`);
    const words = (text) => make("td", { class: "words" }, text);
    return make(
      "tr", {},
      make("th", { scope: "row" }, button),
      ...(this.hasNames ? [words(row.name)] : []),
      words(row.labels[0]),
      make("td", {}, percent(row.confidences[0])),
      words(candidates.join(", ")),
      ...(this.hasMisses ? [words(RowList.#doubtOf(row))] : []),
      words(this.settledLabel(row) ?? ""),
    );
  }

  static #doubtOf({ miss }) {
    if (!miss) return "which candidate";
    return `not in the set, ${percent(miss.probability)}${miss.label ? `: ${miss.label}` : ""}`;
  }

  #textOf(row) {
    if (this.texts.get(row) === null) {
      const parts = [row.number, row.name, ...row.labels, row.miss?.label ?? "", ...row.values];
      this.texts.set(row, parts.join(" ").toLowerCase());
    }
    return this.texts.get(row);
  }

  arrange() {
    const words = byId("list-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    this.listed = this.rows.filter((row) =>
      this.hasWantedDoubt(row) && words.every((word) => this.#textOf(row).includes(word)));
    const header = byId("list").querySelector("[aria-sort]");
    const key = this.keys[header.dataset.key];
    const sign = header.getAttribute("aria-sort") === "descending" ? -1 : 1;
    const compare = (a, b) =>
      typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true });
    this.listed.sort((a, b) => sign * compare(key(a), key(b)));
    this.first = 0;
    this.show();
  }

  #sortBy(header) {
    const turned = header.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
    for (const other of byId("list").querySelectorAll("th")) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", turned);
    this.arrange();
  }

  #turn(pages) {
    this.first += pages * RowList.#PAGE;
    this.show();
  }
}
