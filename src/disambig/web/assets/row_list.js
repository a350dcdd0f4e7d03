"use strict";
// The list of all doubtful rows, a page at a time: thousands of rows would make a browser slow.

class RowList {
  static #PAGE = 25;

  // What gives the rows as settle.js has them, in order; which columns they have besides those of
  // every table; the label a row is settled on, if any; whether it has the doubt that is wanted;
  // and what to do with a row that is chosen.
  constructor(rows, { hasNames, hasGroups, hasMisses }, { settledLabel, hasWantedDoubt, open }) {
    this.rows = rows;
    this.hasNames = hasNames;
    this.hasGroups = hasGroups;
    this.hasMisses = hasMisses;
    this.settledLabel = settledLabel;
    this.hasWantedDoubt = hasWantedDoubt;
    this.open = open;
    this.first = 0;
    this.listed = [];
    this.ranks = new Map(); // of groups, and of rows by themselves
    this.texts = new Map(); // what is searched, made when needed
    this.keys = {
      group: (row) => this.ranks.get(row.group ?? row),
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
    const lines = shown.map((row) => this.#line(row));
    for (const [i, line] of lines.entries()) {
      const begins = this.hasGroups && (i === 0 || RowList.#isApart(shown[i - 1], shown[i]));
      line.classList.toggle("begins", begins);
    }
    byId("list").tBodies[0].replaceChildren(...lines);
    byId("list-count").textContent = this.listed.length
      ? `${this.first + 1} to ${last} of ${this.listed.length} rows` : "No row matches.";
    byId("list-before").disabled = this.first === 0;
    byId("list-after").disabled = last >= this.listed.length;
  }

  static #isApart(one, other) {
    return one.group === null || one.group !== other.group;
  }

  #line(row) {
    const button = make("button", { type: "button" }, String(row.number));
    button.addEventListener("click", () => this.open(row));
    const candidates = row.labels.map((label, i) => `${label} ${percent(row.confidences[i])}`);
    const words = (text) => make("td", { class: "words" }, text);
    return make(
      "tr", {},
      make("th", { scope: "row" }, button),
      ...(this.hasGroups ? [words(row.group?.name ?? "")] : []),
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
    if (!this.texts.has(row)) {
      const known = [row.number, row.name, row.group?.name ?? "", row.miss?.label ?? ""];
      const parts = [...known, ...row.labels, ...row.values];
      this.texts.set(row, parts.join(" ").toLowerCase());
    }
    return this.texts.get(row);
  }

  // Filter and sort anew; keepPage where rows have changed, not what is wanted of them.
  arrange({ keepPage = false } = {}) {
    const words = byId("list-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = this.rows();
    this.ranks = new Map([...new Set(rows.map((row) => row.group ?? row))].map((one, i) => [one, i]));
    this.listed = rows.filter((row) =>
      this.hasWantedDoubt(row) && words.every((word) => this.#textOf(row).includes(word)));
    const header = byId("list").querySelector("[aria-sort]");
    const key = this.keys[header.dataset.key];
    const sign = header.getAttribute("aria-sort") === "descending" ? -1 : 1;
    const compare = (a, b) =>
      typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true });
    this.listed.sort((a, b) => sign * compare(key(a), key(b)));
    const lastPage = RowList.#PAGE * Math.floor(Math.max(0, this.listed.length - 1) / RowList.#PAGE);
    this.first = keepPage ? Math.min(this.first, lastPage) : 0;
    this.show();
  }

  sortBy(id) {
    this.#sortBy(byId(id));
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
