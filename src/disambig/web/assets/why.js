"use strict";
// Why a row may have one label or another: rows like it, where its values lie, what networks said.

const STRIPS_SHOWN = 4;
const SIMILAR_COLUMNS = 6;
const LONGEST_HERE = 120; // characters of a text in the table of similar rows
const STRIP = { width: 200, height: 16 };

class Why {
  #answers = new Map(); // promises, by the number of the row
  #shown = null;

  // What the page holds; whether what the model says of a row is to be hidden; the values of a row;
  // which columns hold texts; and what is done once it is known which columns of a row say most.
  constructor({ columns, columnsLeftOut, classes, review }, { hides, values, isText, tellColumns }) {
    this.columns = columns;
    this.isShown = (name) => columnsLeftOut > 0 || columns.includes(name);
    this.classes = classes;
    this.isText = isText;
    this.isServed = review?.why ?? false;
    this.hides = hides;
    this.values = values;
    this.tellColumns = tellColumns;
  }

  async show(row) {
    this.#shown = row;
    this.#showOpinions(row);
    for (const id of ["similar", "ranges"]) byId(id).replaceChildren();
    byId("why-status").hidden = true;
    byId("why").hidden = row === null || (!this.isServed && byId("opinions").childElementCount === 0);
    if (row === null || !this.isServed) return;
    this.#say("Looking for similar rows …");
    const answer = await this.prefetch(row);
    if (this.#shown !== row) return; // another row has been opened meanwhile
    if (answer === null) {
      this.#say("Similar rows cannot be shown at the moment.");
      return;
    }
    byId("why-status").hidden = true;
    const telling = [...answer.ranges, ...answer.shares].filter(({ column }) => this.isShown(column))
      .sort((one, other) => other.telling - one.telling)
      .map((one) => ({ ...one, labels: this.#inOrder(row, one.labels) }));
    this.#showSimilar(row, this.#inOrder(row, answer.similar), telling.map(({ column }) => column));
    this.#showRanges(telling);
    this.tellColumns(row, telling.map(({ column }) => column));
  }

  // Ask for a row that comes soon. What came to nothing is asked again.
  prefetch(row) {
    if (!this.isServed) return Promise.resolve(null);
    if (!this.#answers.has(row.number)) {
      const answer = this.#ask(row.number);
      this.#answers.set(row.number, answer);
      answer.then((found) => found ?? this.#answers.delete(row.number));
    }
    return this.#answers.get(row.number);
  }

  async #ask(number) {
    try {
      const answer = await fetch(`why?row=${number}`);
      return answer.status === 200 ? await answer.json() : null;
    } catch {
      return null;
    }
  }

  // The likeliest label comes first, which is what the model says.
  #inOrder(row, said) {
    if (!this.hides(row)) return said;
    const place = ({ label }) => this.classes.indexOf(label);
    return [...said].sort((one, other) => place(one) - place(other));
  }

  #say(text) {
    byId("why-status").hidden = false;
    byId("why-status").textContent = text;
  }

  // A table: this row first, then those like it, with the values that say most.
  #showSimilar(row, similar, telling) {
    if (similar.length === 0) {
      byId("similar").replaceChildren(make("p", { class: "note" }, "No rows whose labels are sure are like this one."));
      return;
    }
    const texts = this.columns.filter(this.isText);
    const shown = [...texts.slice(0, 1), ...telling, ...texts.slice(1)].slice(0, SIMILAR_COLUMNS)
      .map((name) => this.columns.indexOf(name)).filter((place) => place >= 0);
    const cut = (text) => (text.length > LONGEST_HERE ? `${text.slice(0, LONGEST_HERE)}…` : text);
    const classOf = (place) => (this.isText(this.columns[place]) ? "words text" : "words");
    const own = this.values(row);
    const line = (label, likeness, values) => make(
      "tr", {}, make("th", { scope: "row" }, label), make("td", {}, likeness),
      ...shown.map((place) => make("td", { class: classOf(place) }, cut(values[place] ?? ""))),
    );
    const head = ["label", "likeness", ...shown.map((place) => this.columns[place])];
    const table = make(
      "table", {},
      make("thead", {}, make("tr", {}, ...head.map((text, place) =>
        make("th", place > 1 ? { scope: "col", class: "words" } : { scope: "col" }, ...breakable(text))))),
      make("tbody", {},
        line("this row", "", own),
        ...similar.map((one) => line(one.label, one.likeness.toFixed(2), one.values))),
    );
    byId("similar").replaceChildren(
      make("h5", {}, "Most similar rows whose labels are sure"),
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Similar rows" }, table),
    );
  }

  #showRanges(telling) {
    if (telling.length === 0) return;
    const parts = telling.map((one) => ("share" in (one.labels[0] ?? {}) ? Why.#shares(one) : Why.#strips(one)));
    const more = parts.slice(STRIPS_SHOWN);
    const folded = more.length === 0 ? [] : [
      make("details", {}, make("summary", {}, plural(more.length, "more value")),
        make("div", { class: "strips" }, ...more)),
    ];
    byId("ranges").replaceChildren(
      make("h5", {}, "Where its values lie among rows whose labels are sure"),
      make("p", { class: "note" }, "The box holds the middle half of a label's rows, the thin line nearly all; the upright line is this row."),
      make("div", { class: "strips" }, ...parts.slice(0, STRIPS_SHOWN)), ...folded,
    );
  }

  static #heading = ({ column, value }) =>
    make("p", { class: "value" }, ...breakable(column), " ", make("strong", {}, value === "" ? "(empty)" : value));

  static #strips(one) {
    const lines = one.labels.map((label) => make(
      "div", { class: "strip" }, make("span", {}, label.label), Why.#strip(one.at, label),
      make("span", { class: "note" }, Why.#whereText(one.at, label)),
    ));
    return make("div", {}, Why.#heading(one), ...lines);
  }

  static #whereText(at, { low, quarter, three_quarters: threeQuarters, high }) {
    if (at === null) return "no value";
    if (at >= quarter && at <= threeQuarters) return "middle half";
    if (at >= low && at <= high) return "in the range";
    return at < low ? "below the range" : "above the range";
  }

  static #strip(at, label) {
    const { low, quarter, middle, three_quarters: threeQuarters, high } = label;
    const { width, height } = STRIP;
    const x = (share) => 2 + share * (width - 4);
    const upright = (share, name, from, to) => makeSvg("line", {
      class: name, x1: x(share), x2: x(share), y1: from, y2: to, "vector-effect": "non-scaling-stroke",
    });
    const said = at === null ? "" : `; this row at ${at.toFixed(2)}: ${Why.#whereText(at, label)}`;
    return makeSvg(
      "svg", {
        viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", class: "range",
        "aria-label": `${label.label}, ${plural(label.rows, "row")}, on an axis from 0 to 1: ${low.toFixed(2)} to ${high.toFixed(2)}, middle half ${quarter.toFixed(2)} to ${threeQuarters.toFixed(2)}${said}`,
      },
      makeSvg("line", {
        class: "whisker", x1: x(low), x2: x(high), y1: height / 2, y2: height / 2,
        "vector-effect": "non-scaling-stroke",
      }),
      makeSvg("rect", {
        class: "box", x: x(quarter), y: 3, width: Math.max(1, x(threeQuarters) - x(quarter)), height: height - 6,
      }),
      upright(middle, "middle", 3, height - 3),
      ...(at === null ? [] : [upright(at, "own", 0, height)]),
    );
  }

  static #shares(one) {
    const lines = one.labels.map(({ label, share, rows }) => make(
      "div", { class: "strip" }, make("span", {}, label),
      make("progress", { max: 1, value: share, "aria-label": `${label}: ${percent(share)}` }),
      make("span", { class: "note" }, `${Math.round(100 * share)} % of ${plural(rows, "row")}`),
    ));
    return make("div", {}, Why.#heading(one), ...lines);
  }

  // What every network said of the candidates, in the order of the table.
  #showOpinions(row) {
    const { labels, opinions } = row === null || this.hides(row)
      ? { labels: [], opinions: [] } : { labels: row.table.labels, opinions: row.opinions };
    const lines = opinions.map((said, network) => make(
      "tr", {}, make("th", { scope: "row" }, String(network + 1)),
      ...said.map((share) => make("td", {}, percent(share))),
    ));
    byId("opinions").replaceChildren(...(lines.length === 0 ? [] : [
      make("h5", {}, "What each network said"),
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "What each network said" },
        make("table", {},
          make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "network"), ...labels.map((label) => make("th", { scope: "col" }, label)))),
          make("tbody", {}, ...lines))),
    ]));
  }
}
