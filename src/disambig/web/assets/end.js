"use strict";
// When all is settled: what was gained, how reviewers did, and the command that takes it in.

class End {
  // What a page says once nothing is left, and whether a server knows how reviewers did.
  constructor(data) {
    this.data = data;
  }

  hide() {
    byId("end").hidden = true;
  }

  async show(sentences, savedIn) {
    const results = make("ul");
    byId("end").hidden = false;
    byId("end").replaceChildren(
      make("ul", {}, ...sentences.map(([text, isBad]) => make("li", isBad ? { class: "warn" } : {}, text))),
      results,
      ...this.#command(savedIn),
    );
    if (this.data.review === null) return;
    try {
      const answer = await fetch("results");
      const { sentences: found } = await answer.json();
      results.replaceChildren(...found.map((text) => make("li", {}, text)));
    } catch {
      // Saving says that the server is gone.
    }
  }

  #command(savedIn) {
    const { command } = this.data;
    if (command === null) {
      const what = "To take the decisions in, repeat the command that cleaned the table and add: ";
      return [make("p", {}, what, make("code", {}, `--decisions ${savedIn}`))];
    }
    // Words do not break, so that nobody reads one option as two.
    const words = command.split(" ").map((word) => make("span", {}, word));
    const shown = make("pre", { id: "end-command", tabindex: "0" }, ...words.flatMap((word, place) => (place ? [" ", word] : [word])));
    const button = make("button", { type: "button", "data-copy": "end-command" }, "Copy the command"); // by copy.js
    const before = this.data.review === null ? "Save the decisions as a CSV file (below), then clean" : "Clean";
    return [make("p", {}, `${before} again with the decisions:`), shown, make("div", { class: "controls" }, button)];
  }
}
