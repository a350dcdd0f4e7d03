"use strict";
// Which rows are to be settled, and which of them comes next.

class RowQueue {
  #skipped = new Set();

  // All rows of the page; what is decided on them; their groups; and whether they come in a given
  // order, not by doubt.
  constructor(rows, decisions, groups, { surest, isGiven }) {
    this.rows = rows;
    this.decisions = decisions;
    this.groups = groups;
    this.surest = surest;
    this.isGiven = isGiven;
  }

  decisionOn = (row) => this.decisions.of(row.number);

  isOpen = (row) => this.decisionOn(row) === null;

  isDoubtful = (row) => (this.decisions.confidences.has(row.number) && !this.isGiven
    ? row.confidences[0] <= this.surest : !row.isMate);

  isAsked = (row) => this.isOpen(row) && this.isDoubtful(row);

  // Other rows of a group are listed once they have become doubtful, or were settled here.
  isListed = (row) =>
    !row.isMate || this.isDoubtful(row) || (!this.isOpen(row) && row.table.labels.length > 1);

  listed = () => {
    const rows = this.rows.filter(this.isListed);
    return this.isGiven ? rows : this.groups.inOrder(rows);
  };

  hasWantedLabel = (row) => {
    const wanted = byId("class-filter").value;
    return wanted === "" || row.labels.includes(wanted) || row.miss?.label === wanted;
  };

  hasWantedDoubt = (row) => {
    const kind = byId("doubt-filter").value;
    return kind === "" || (kind === "set") === (row.miss !== null);
  };

  hasWantedState = (row) => {
    const state = byId("state-filter").value;
    return state === "" || (state === "open") === this.isOpen(row);
  };

  wanted = () => this.listed().filter((row) => this.hasWantedLabel(row) && this.hasWantedDoubt(row));

  // The rows that come, the next one first; those of the group of the current row before others.
  coming(current) {
    const open = this.wanted().filter(this.isAsked);
    const ready = open.filter((row) => !this.#skipped.has(row.number));
    if (ready.length === 0) return this.#again(open);
    const group = this.isGiven ? null : current?.group ?? null;
    if (group === null) return ready;
    const together = ready.filter((row) => row.group === group);
    return [...together, ...ready.filter((row) => row.group !== group)];
  }

  skip(row) {
    this.#skipped.add(row.number);
  }

  startAgain() {
    this.#skipped.clear();
  }

  #again(open) {
    for (const row of open) this.#skipped.delete(row.number);
    return open;
  }
}
