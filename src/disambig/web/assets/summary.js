"use strict";
// The line above a row and the sentences below it: what is done, and what it changes. At the end they
// take the place of the row.

class Summary {
  constructor(data, queue, pace) {
    this.data = data;
    this.queue = queue;
    this.pace = pace;
    this.checks = new Set(data.review?.checks ?? []);
    this.end = new End(data);
  }

  // The rows that somebody has decided on, without those whose label is known.
  decided() {
    const { rows, isOpen } = this.queue;
    return rows.filter((row) => !isOpen(row) && !this.checks.has(row.number));
  }

  show(current) {
    const { data, queue } = this;
    const gain = gainOf(queue.listed().filter((row) => !this.checks.has(row.number)), {
      decisionOn: queue.decisionOn,
      isAsked: queue.isAsked,
      errors: queue.decisions.errors ?? data.totals.errors,
      areAlone: data.groups === null,
    });
    const sentences = gainSentences(gain, { total: data.totals.rows, before: data.totals.errors });
    // Rows whose label is known are counted with the others: nobody is to notice which they are.
    const asked = queue.rows.filter((row) => this.checks.has(row.number));
    const done = gain.done + asked.filter((row) => !queue.isOpen(row)).length;
    const left = gain.left + asked.filter(queue.isOpen).length;
    const counted = { ...gain, done, left, rows: gain.rows + asked.length };
    byId("progress").textContent = progressText(counted, this.pace.secondsEach);
    byId("gain").replaceChildren(
      ...sentences.map(([text, isBad]) => make("li", isBad ? { class: "warn" } : {}, text)),
    );
    byId("gain").hidden = current === null;
    if (current === null) this.#showEnd(sentences);
    else this.end.hide();
  }

  #showEnd(sentences) {
    for (const id of ["question", "miss", "said"]) byId(id).hidden = true;
    const { data, queue } = this;
    const onPage = data.rows.length;
    const sure = queue.rows.some((row) => queue.isListed(row) && queue.isOpen(row) && !queue.isDoubtful(row));
    const done = `All rows here are settled${sure ? ", or sure by what was settled in their groups" : ""}`;
    byId("card-title").textContent = onPage ? done : "No rows need to be checked";
    const others = data.totals.doubtful - onPage + this.checks.size;
    byId("card-place").textContent = others > 0 && !queue.isGiven
      ? `${plural(others, "less doubtful row is", "less doubtful rows are")} not on this page.` : "";
    this.end.show(sentences, data.savedIn ?? "decisions.csv");
  }
}
