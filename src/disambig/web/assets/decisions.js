"use strict";
// What is decided on rows, and where it is kept. A decision is a label and an answer, as in a file
// of decisions: a label alone; "not this" beside one label or several; or an answer alone.

const NOT_THIS = "not this";

const asDecision = (label, answer = null) =>
  (label === null && answer === null ? null : { label, answer });

const isSameDecision = (one, other) =>
  JSON.stringify([one?.label ?? null, one?.answer ?? null]) ===
  JSON.stringify([other?.label ?? null, other?.answer ?? null]);

const decisionText = ({ label, answer }) => {
  if (answer === NOT_THIS) return `not ${[label].flat().join(", ")}`;
  return answer ?? label;
};

// Both classes have the same interface. of() tells what stands on a row, or is about to; load()
// reads what stands; save() returns false if the row has been settled elsewhere meanwhile; undo()
// takes back the latest decision and returns its row: null if it has been changed elsewhere
// meanwhile, undefined if there is none.

// Written to a file by the server that the page comes from.
class ServerDecisions {
  confidences = new Map(); // of rows whose group has settled rows: candidates and how likely they are
  errors = null; // expected in the table with these confidences; null if decisions do not change it
  #standing = new Map(); // by the number of the row
  #pending = new Map(); // decided here, and not confirmed yet
  #latest = null; // the row of the latest own decision, and what stood there before
  #last = Promise.resolve();

  of(number) {
    if (this.#pending.has(number)) return this.#pending.get(number);
    return this.#standing.get(number) ?? null;
  }

  get canUndo() {
    return this.#latest !== null || this.isSaving;
  }

  get isSaving() {
    return this.#pending.size > 0;
  }

  load() {
    return this.#inTurn(() => this.#ask("decisions"));
  }

  save(number, decision) {
    const before = this.of(number);
    this.#pending.set(number, decision);
    return this.#inTurn(async () => {
      try {
        return await this.#post(number, decision, before);
      } finally {
        if (this.#pending.get(number) === decision) this.#pending.delete(number);
      }
    });
  }

  undo() {
    return this.#inTurn(async () => {
      if (this.#latest === null) return undefined;
      const [number, label, answer] = this.#latest;
      const saved = await this.#post(number, asDecision(label, answer), this.of(number));
      return saved ? number : null;
    });
  }

  // One after the other, so that no answer is older than the one before it.
  #inTurn(ask) {
    const answer = this.#last.then(ask);
    this.#last = answer.catch(() => null);
    return answer;
  }

  #post(row, decision, before) {
    const { label, answer } = decision ?? { label: null, answer: null };
    const stood = before === null ? null : [before.label, before.answer];
    return this.#ask("decisions", {
      method: "POST",
      body: JSON.stringify({ row, label, answer, before: stood }),
      headers: { "Content-Type": "application/json" },
    });
  }

  async #ask(address, options) {
    let answer;
    try {
      answer = await fetch(address, options);
    } catch {
      throw new Error("disambig review is not running. Start it again; saved decisions are kept in its file.");
    }
    const content = await answer.json();
    if (answer.status !== 200 && answer.status !== 409) throw new Error(content.error);
    const stands = [...content.settled, ...(content.checked ?? [])];
    this.#standing = new Map(stands.map(([number, ...decision]) => [number, asDecision(...decision)]));
    this.#latest = content.undo ?? null;
    this.confidences = new Map((content.confidences ?? []).map(([number, ...said]) => [number, said]));
    this.errors = content.errors ?? null;
    return answer.status === 200;
  }
}

// Kept by the browser, for a page that is a file.
class BrowserDecisions {
  static #MOST_UNDONE = 100;
  confidences = new Map(); // only a server computes what groups say
  errors = null;
  lasting = true; // until the browser refuses
  isSaving = false; // it is done before anything else can happen
  #key;
  #standing = new Map();
  #done = []; // rows decided on and what stood there before, the latest last

  constructor(key) {
    this.#key = `disambig-decisions-${key}`;
  }

  of(number) {
    return this.#standing.get(number) ?? null;
  }

  get canUndo() {
    return this.#done.length > 0;
  }

  async load() {
    this.#read();
  }

  async save(number, decision) {
    return this.#write(number, decision, (before) => this.#done.push([number, before]));
  }

  async undo() {
    this.#read();
    const last = this.#done.at(-1);
    if (last === undefined) return undefined;
    const [number, before] = last;
    return this.#write(number, before, () => this.#done.pop()) ? number : null;
  }

  #write(number, decision, note) {
    const before = this.of(number);
    this.#read();
    if (!isSameDecision(this.of(number), before)) return false;
    if (decision === null) this.#standing.delete(number);
    else this.#standing.set(number, decision);
    note(before);
    const plain = (entries) =>
      entries.map(([row, one]) => [row, one?.label ?? null, one?.answer ?? null]);
    try {
      localStorage.setItem(this.#key, JSON.stringify(plain([...this.#standing])));
      const kept = this.#done.slice(-BrowserDecisions.#MOST_UNDONE);
      localStorage.setItem(`${this.#key}-undo`, JSON.stringify(plain(kept)));
    } catch {
      this.lasting = false;
    }
    return true;
  }

  // Leaves what is in memory where the browser keeps nothing for pages that are files.
  #read() {
    if (!this.lasting) return;
    const entries = (key) => JSON.parse(localStorage.getItem(key) ?? "[]")
      .map(([number, ...decision]) => [number, asDecision(...decision)]);
    try {
      this.#standing = new Map(entries(this.#key));
      this.#done = entries(`${this.#key}-undo`);
    } catch {
      this.lasting = false;
    }
  }
}

function decisionsAsCsv(column, named) {
  const cell = (text) => (/[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const rows = named.flatMap(([name, { label, answer }]) =>
    [label].flat().map((one) => [name, one ?? "", answer ?? ""]));
  const lines = [[column, "label", "answer"], ...rows].map((cells) => cells.map(cell).join(","));
  return lines.map((line) => `${line}\n`).join("");
}
