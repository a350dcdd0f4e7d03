"use strict";
// Where decisions are kept. Both classes have the same interface: load() and save() update the map
// of settled labels, and what these say of other rows; save() returns false if the row has been
// settled elsewhere meanwhile.

// Written to a file by the server that the page comes from.
class ServerDecisions {
  labels = new Map(); // by the number of the row
  confidences = new Map(); // of rows whose group has settled rows: candidates and how likely they are
  errors = null; // expected in the table with these confidences; null if decisions do not change it
  #last = Promise.resolve();

  load() {
    return this.#ask("decisions");
  }

  save(number, label) {
    const before = this.labels.get(number) ?? null;
    return this.#ask("decisions", {
      method: "POST",
      body: JSON.stringify({ row: number, label, before }),
      headers: { "Content-Type": "application/json" },
    });
  }

  // One after the other, so that no answer is older than the one before it.
  #ask(address, options) {
    const answer = this.#last.then(() => this.#answer(address, options));
    this.#last = answer.catch(() => null);
    return answer;
  }

  async #answer(address, options) {
    let answer;
    try {
      answer = await fetch(address, options);
    } catch {
      throw new Error("disambig review is not running. Start it again; saved decisions are kept in its file.");
    }
    const content = await answer.json();
    if (answer.status !== 200 && answer.status !== 409) throw new Error(content.error);
    this.labels = new Map(content.settled);
    this.confidences = new Map((content.confidences ?? []).map(([number, ...said]) => [number, said]));
    this.errors = content.errors ?? null;
    return answer.status === 200;
  }
}

// Kept by the browser, for a page that is a file.
class BrowserDecisions {
  labels = new Map();
  confidences = new Map(); // only a server computes what groups say
  errors = null;
  lasting = true; // until the browser refuses
  #key;

  constructor(key) {
    this.#key = `disambig-decisions-${key}`;
  }

  async load() {
    this.labels = this.#kept() ?? this.labels;
  }

  async save(number, label) {
    const before = this.labels.get(number);
    this.labels = this.#kept() ?? this.labels;
    if (this.labels.get(number) !== before) return false;
    if (label === null) this.labels.delete(number);
    else this.labels.set(number, label);
    try {
      localStorage.setItem(this.#key, JSON.stringify([...this.labels]));
    } catch {
      this.lasting = false;
    }
    return true;
  }

  // Null where the browser keeps nothing for pages that are files.
  #kept() {
    try {
      const text = localStorage.getItem(this.#key);
      return this.lasting ? new Map(JSON.parse(text ?? "[]")) : null;
    } catch {
      this.lasting = false;
      return null;
    }
  }
}

function decisionsAsCsv(column, named) {
  const cell = (text) => (/[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = [[column, "label"], ...named].map((cells) => cells.map(cell).join(","));
  return lines.map((line) => `${line}\n`).join("");
}
