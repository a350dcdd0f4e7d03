"use strict";
// Where decisions are kept. Both kinds have the same face: load() and save() bring the map of
// decisions up to date; save() says false if somebody else has decided on the row meanwhile.

class Decisions {
  constructor() {
    this.labels = new Map(); // by the number of the row
  }

  take(changes) {
    for (const [number, label] of changes) {
      if (label === null) this.labels.delete(number);
      else this.labels.set(number, label);
    }
  }
}

// Written to a file by the server that the page comes from.
class ServerDecisions extends Decisions {
  constructor() {
    super();
    this.seen = 0;
  }

  async load() {
    await this.#ask(`decisions?since=${this.seen}`);
  }

  async save(number, label) {
    const body = JSON.stringify({ row: number, label, seen: this.seen });
    const headers = { "Content-Type": "application/json" };
    return this.#ask("decisions", { method: "POST", body, headers });
  }

  async #ask(address, options = {}) {
    let answer;
    const { seen } = this;
    try {
      answer = await fetch(address, options);
    } catch {
      throw new Error("disambig review does not answer. Start it again; what was saved is in its file.");
    }
    const content = await answer.json();
    if (answer.status !== 200 && answer.status !== 409) throw new Error(content.error);
    // They begin further back than asked for: there is another file, with less in it.
    if (content.next - content.decisions.length < seen) this.labels.clear();
    this.take(content.decisions);
    this.seen = content.next;
    return answer.status === 200;
  }
}

// Kept by the browser, for a page that is a file.
class BrowserDecisions extends Decisions {
  constructor(key) {
    super();
    this.key = `disambig-decisions-${key}`;
    this.lasting = true;
  }

  async load() {
    this.labels = this.#kept() ?? this.labels;
  }

  async save(number, label) {
    const before = this.labels.get(number);
    this.labels = this.#kept() ?? this.labels;
    if (this.labels.get(number) !== before) return false;
    this.take([[number, label]]);
    try {
      localStorage.setItem(this.key, JSON.stringify([...this.labels]));
    } catch {
      this.lasting = false;
    }
    return true;
  }

  // Null where the browser keeps nothing for pages that are files.
  #kept() {
    try {
      const text = localStorage.getItem(this.key);
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
