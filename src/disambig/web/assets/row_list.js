"use strict";
// The list of all doubtful rows, a page at a time: thousands of rows would make a browser slow.

class RowList {
  static #PAGE = 25;
  static #MOST_PRINTED = 2000;

  // The queue, which gives the rows in order; which columns they have besides those of every table;
  // whether to hide what the model says; and what to do with a row that is chosen.
  constructor(queue, { hasNames, hasGroups, hasMisses, isBlind }, open) {
    this.queue = queue;
    this.hasNames = hasNames;
    this.hasGroups = hasGroups;
    this.hasMisses = hasMisses;
    this.isBlind = isBlind;
    this.open = open;
    this.first = 0;
    this.most = RowList.#PAGE;
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
      decision: (row) => this.#decided(row),
    };
    byId("list-chosen").hidden = isBlind;
    byId("list-confidence").hidden = isBlind;
    byId("list-filter").addEventListener("input", () => this.arrange());
    byId("list-before").addEventListener("click", () => this.#turn(-1));
    byId("list-after").addEventListener("click", () => this.#turn(1));
    for (const header of byId("list").querySelectorAll("th[data-key]")) {
      header.firstElementChild.addEventListener("click", () => this.#sortBy(header));
    }
    // On paper all rows are listed: nobody can turn pages there.
    const paper = matchMedia("print");
    paper.addEventListener("change", () => this.#print(paper.matches));
    addEventListener("beforeprint", () => this.#print(true));
    addEventListener("afterprint", () => this.#print(false));
  }

  #print(isPrinting) {
    const most = isPrinting ? RowList.#MOST_PRINTED : RowList.#PAGE;
    if (most === this.most) return;
    this.most = most;
    this.show();
  }

  #decided = (row) => {
    const decision = this.queue.decisionOn(row);
    return decision === null ? "" : decisionText(decision);
  };

  show() {
    const first = this.most === RowList.#PAGE ? this.first : 0;
    const last = Math.min(first + this.most, this.listed.length);
    const shown = this.listed.slice(first, last);
    const lines = shown.map((row) => this.#line(row));
    for (const [i, line] of lines.entries()) {
      const begins = this.hasGroups && (i === 0 || RowList.#isApart(shown[i - 1], shown[i]));
      line.classList.toggle("begins", begins);
    }
    byId("list").tBodies[0].replaceChildren(...lines);
    const count = this.listed.length
      ? `${(first + 1).toLocaleString("en")} to ${last.toLocaleString("en")} of ${plural(this.listed.length, "row")}` : "No row matches.";
    if (byId("list-count").textContent !== count) byId("list-count").textContent = count; // or it is read out again
    byId("list-before").disabled = this.first === 0;
    byId("list-after").disabled = last >= this.listed.length;
  }

  static #isApart(one, other) {
    return one.group === null || one.group !== other.group;
  }

  #line(row) {
    const button = make("button", { type: "button" }, String(row.number));
    button.addEventListener("click", () => this.open(row));
    // Labels written from right to left leave the order of what is beside them alone.
    const name = (label) => make("bdi", {}, label);
    const labels = this.isBlind ? [...row.labels].sort() : row.labels;
    const candidates = labels.flatMap((label, i) => [
      i === 0 ? "" : ", ", name(label), this.isBlind ? "" : ` ${percent(row.confidences[i])}`]);
    const words = (...parts) => make("td", { class: "words" }, ...parts);
    return make(
      "tr", {},
      make("th", { scope: "row" }, button),
      ...(this.hasGroups ? [words(row.group?.name ?? "")] : []),
      ...(this.hasNames ? [words(row.name)] : []),
      ...(this.isBlind ? [] : [words(row.labels[0]), make("td", {}, percent(row.confidences[0]))]),
      words(...candidates),
      ...(this.hasMisses ? [words(this.#doubtOf(row))] : []),
      words(this.#decided(row)),
    );
  }

  #doubtOf({ miss }) {
    if (!miss) return "which candidate";
    if (this.isBlind) return "not in the set";
    return `not in the set, ${percent(miss.probability)}${miss.label ? `: ${miss.label}` : ""}`;
  }

  #textOf(row) {
    if (!this.texts.has(row)) {
      const miss = this.isBlind ? "" : row.miss?.label ?? "";
      const known = [row.number, row.name, row.group?.name ?? "", miss];
      const parts = [...known, ...row.labels, ...row.values];
      this.texts.set(row, parts.join(" ").toLowerCase());
    }
    return this.texts.get(row);
  }

  // Filter and sort anew; keepPage where rows have changed, not what is wanted of them.
  arrange({ keepPage = false } = {}) {
    const words = byId("list-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = this.queue.listed();
    this.ranks = new Map([...new Set(rows.map((row) => row.group ?? row))].map((one, i) => [one, i]));
    const { hasWantedLabel, hasWantedDoubt, hasWantedState } = this.queue;
    this.listed = rows.filter((row) =>
      hasWantedLabel(row) && hasWantedDoubt(row) && hasWantedState(row)
      && words.every((word) => this.#textOf(row).includes(word)));
    const header = byId("list").querySelector("[aria-sort]");
    if (header !== null) { // until then rows are in the order in which they come
      const key = this.keys[header.dataset.key];
      const sign = header.getAttribute("aria-sort") === "descending" ? -1 : 1;
      const compare = (a, b) =>
        typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true });
      this.listed.sort((a, b) => sign * compare(key(a), key(b)));
    }
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
