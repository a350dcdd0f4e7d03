"use strict";
// Rows that come together: their order, and those that are shown beside the row to be settled.

class RowGroups {
  static #MOST_SHOWN = 24;
  static #PROMISES = {
    cover: "Every label of these rows belongs to at least one of them",
    exclusive: "No two of these rows have the same label",
  };
  static #BROKEN = {
    cover: "More labels than rows: not every label can belong to one of them, so they say nothing about each other.",
    exclusive: "More rows than labels: two of them must have the same label, so they say nothing about each other.",
  };

  // data as on the page, null where no rows come together; all rows in its order, to which this adds
  // their group or null; whether a server computes what decisions say; whether to hide what the
  // model says; what is decided on a row; and what to do with a row that is chosen.
  constructor(data, rows, { served, isBlind, decisionOn, open }) {
    this.data = data;
    this.served = served;
    this.isBlind = isBlind;
    this.decisionOn = decisionOn;
    this.open = open;
    const groups = (data?.names ?? []).map((name, i) =>
      ({ name, size: data.sizes[i], canKeep: data.canKeep[i], isTold: data.isTold[i], rows: [] }));
    for (const [i, row] of rows.entries()) {
      const place = data?.of[i] ?? null;
      row.group = place === null ? null : groups[place];
      row.group?.rows.push(row);
    }
    for (const group of groups) {
      group.rows.sort((a, b) => a.number - b.number);
      group.number = group.rows[0].number;
    }
  }

  get title() {
    return this.data?.by ?? "Group";
  }

  // Groups in the order of their least sure row, rows inside as in the table.
  inOrder(rows) {
    if (this.data === null) return rows;
    const least = new Map();
    for (const row of rows) {
      const key = row.group ?? row;
      least.set(key, Math.min(least.get(key) ?? 1, row.confidences[0]));
    }
    const compare = (a, b) => {
      const [one, other] = [a.group ?? a, b.group ?? b];
      return least.get(one) - least.get(other) || one.number - other.number || a.number - b.number;
    };
    return [...rows].sort(compare);
  }

  show(row) {
    const group = row?.group ?? null;
    byId("group").hidden = group === null;
    if (group === null) return;
    byId("group-title").textContent = this.data.by === null
      ? `Together: ${group.name}` : `Together: ${this.data.by} ${group.name}`;
    byId("group-promise").textContent = this.#promise(group);
    // Of a large group, those around the row.
    const most = RowGroups.#MOST_SHOWN;
    const place = group.rows.indexOf(row);
    const from = Math.max(0, Math.min(place - most / 2, group.rows.length - most));
    const shown = group.rows.slice(from, from + most);
    byId("mates").replaceChildren(...shown.map((mate) => this.#tile(mate, mate === row)));
    const more = group.size - shown.length;
    byId("more-mates").hidden = more === 0;
    byId("more-mates").textContent =
      `${more} more ${more === 1 ? "row is" : "rows are"} in this group and not shown.`;
  }

  #promise({ canKeep, isTold }) {
    const { promise, strength } = this.data;
    if (promise === null) return "";
    if (!canKeep) return RowGroups.#BROKEN[promise];
    const believed = strength < 1 ? `, as is believed of ${Number((100 * strength).toFixed(1))} % of all groups` : "";
    let then = "Decisions change how sure the others are only once the table is cleaned again with them.";
    if (isTold && this.served) then = "What you decide on one of them changes how sure the others are.";
    else if (isTold) then = "Decisions on this page do not change how sure the others are; those in disambig review do, and cleaning again with them.";
    return `${RowGroups.#PROMISES[promise]}${believed}. ${then}`;
  }

  #tile(mate, isCurrent) {
    const decision = this.decisionOn(mate);
    const isHidden = this.isBlind && decision === null;
    const label = decision === null ? mate.labels[0] : decisionText(decision);
    const before = mate.table.confidences[0];
    const notes = [];
    if (decision !== null) notes.push("decided");
    else if (!isHidden) {
      const sureness = percent(mate.confidences[0]);
      const changed = percent(before) !== sureness || mate.table.candidates[0] !== mate.candidates[0];
      const was = mate.table.candidates[0] === mate.candidates[0] ? "" : `${mate.table.labels[0]} `;
      notes.push(changed ? `${sureness}, was ${was}${percent(before)}` : sureness);
    }
    const button = make(
      "button", { type: "button" },
      make("span", { class: "note" }, mate.name === String(mate.number) ? `Row ${mate.number}` : mate.name),
      make("strong", {}, isHidden ? "open" : label),
      make("span", { class: "note" }, ...notes),
      ...(isHidden ? [] : [make("progress", {
        max: 1, value: decision === null ? mate.confidences[0] : 1, "aria-hidden": "true",
      })]),
    );
    if (isCurrent) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => {
      this.open(mate);
      byId("mates").querySelector("[aria-current]").focus(); // tiles are new ones now
    });
    return make("li", {}, button);
  }
}
