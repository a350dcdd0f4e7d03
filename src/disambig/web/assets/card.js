"use strict";
// One row: what is asked, and the choices.

class Card {
  #buttons = new Map(); // what keys of labels do on this row

  // What the page holds; the key of every label; and what tells what stands on a row.
  constructor(data, keys, { decisionOn, choose }) {
    this.data = data;
    this.keys = keys;
    this.decisionOn = decisionOn;
    this.choose = choose;
    this.isBlind = data.review?.blind ?? false;
    this.questions = new Map((data.review?.questions ?? []).map(([number, text, labels, removes]) =>
      [number, { text, labels, removes }]));
    this.said = new Map(data.review?.said ?? []);
  }

  show(row, place) {
    // A name written from right to left leaves the order of what is beside it alone.
    byId("card-title").replaceChildren(...(this.data.id === null ? [`Row ${row.number}`]
      : [`${this.data.id} `, make("bdi", {}, row.name), `, row ${row.number}`]));
    const decision = this.decisionOn(row);
    const notes = decision === null ? [place] : [place, `Decided: ${decisionText(decision)}.`];
    byId("card-place").textContent = notes.filter(Boolean).join(" ");
    const question = this.questions.get(row.number);
    byId("question").hidden = question === undefined;
    byId("question").textContent = question?.text ?? "";
    byId("miss").hidden = row.miss === null || this.#hides(row);
    if (row.miss !== null) byId("miss").textContent = Card.#missText(row.miss);
    const said = this.said.get(row.number) ?? [];
    byId("said").hidden = said.length === 0;
    byId("said").replaceChildren(...said.map(([by, ...what]) =>
      make("li", {}, `${by || "without a name"}: ${decisionText(asDecision(...what))}`)));
    byId("other").value = "";
    byId("choose-other").disabled = true;
    this.#showChoices(row);
    for (const button of byId("other-answers").querySelectorAll("[data-answer]")) {
      const isChosen = decision?.answer === button.dataset.answer;
      button.setAttribute("aria-pressed", String(isChosen));
    }
  }

  // Do what a key of a label, or of a question, means on this row; tell whether it means anything.
  press(key) {
    const button = this.#buttons.get(key);
    button?.click();
    return button !== undefined;
  }

  // What the model says is hidden until the answer is given.
  #hides = (row) => this.isBlind && this.decisionOn(row) === null;

  static #missText({ probability, label }) {
    const then = label === null ? "" : ` It would then be: ${label}.`;
    return `The set may miss the right label: probability ${probability.toFixed(2)}.${then}`;
  }

  // The labels of the row: those that are asked about, then one from outside the set, then the
  // likeliest. Without looking at what the model says: in the order of the classes.
  labelsOf(row) {
    const isOutside = row.miss?.label != null && !row.labels.includes(row.miss.label);
    const labels = isOutside ? [row.miss.label, ...row.labels] : row.labels;
    if (this.isBlind) return this.data.classes.filter((label) => labels.includes(label));
    const asked = (this.questions.get(row.number)?.labels ?? []).filter((label) => labels.includes(label));
    return [...asked, ...labels.filter((label) => !asked.includes(label))];
  }

  #showChoices(row) {
    this.#buttons = new Map();
    const labels = this.questions.get(row.number)?.labels ?? [];
    const asked = labels.length === 1 ? labels[0] : null;
    const shown = this.labelsOf(row);
    const choices = shown.filter((label) => label !== asked).map((label) =>
      this.#choice(row, asDecision(label), [this.keys.get(label)], label, this.#parts(row, label)));
    if (asked !== null) {
      const parts = shown.includes(asked) ? this.#parts(row, asked) : [];
      choices.unshift(
        this.#choice(row, asDecision(asked), [YES_KEY, this.keys.get(asked)], `yes, ${asked}`, parts),
        this.#choice(row, asDecision(asked, NOT_THIS), [NO_KEY], `no, not ${asked}`, []),
      );
    }
    byId("choices").replaceChildren(...choices);
  }

  #choice(row, decision, keys, text, parts) {
    const known = keys.filter((key) => key !== undefined);
    const isChosen = isSameDecision(this.decisionOn(row), decision);
    const button = make(
      "button",
      { type: "button", "aria-pressed": String(isChosen), "aria-keyshortcuts": known.join(" ") },
      make("span", { class: "keys" }, ...known.map((key) => make("kbd", {}, key))),
      make("strong", {}, text), ...parts,
    );
    button.addEventListener("click", () => this.choose(decision));
    for (const key of known) this.#buttons.set(key, button);
    return make("li", {}, button);
  }

  #parts(row, label) {
    if (this.#hides(row)) return [];
    const place = row.labels.indexOf(label);
    if (place < 0) return [make("span", { class: "note" }, "not in the set")];
    return [
      make("span", {}, percent(row.confidences[place])),
      make("progress", { max: 1, value: row.confidences[place], "aria-hidden": "true" }),
    ];
  }
}
