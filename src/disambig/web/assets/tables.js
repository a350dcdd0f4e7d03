"use strict";
// Tables: sorted by the buttons of their header, filtered by the words typed above them. Rows that
// sum up stay at the end, whatever happens above.
(() => {
  const words = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const missing = new Set(["", "-"]);

  // The number a cell begins with; "< 0.001" comes before "0.001".
  const number = (text) => {
    const found = text.replaceAll(",", "").match(/^([<≤]?)\s*([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)/i);
    return found ? Number(found[2]) - (found[1] ? 1e-9 : 0) : NaN;
  };

  const compare = (kind, sign) => (a, b) => {
    if (a.none || b.none) return a.none - b.none;
    return sign * (kind === "number" ? a.value - b.value : words.compare(a.value, b.value));
  };

  const prepare = (frame) => {
    const body = frame.querySelector("tbody");
    const rows = [...body.rows];
    const data = rows.filter((row) => !row.classList.contains("summary"));
    const summary = rows.filter((row) => row.classList.contains("summary"));
    const headers = [...frame.querySelectorAll("thead th")];

    const sort = (header) => {
      const { kind } = header.dataset;
      const order = kind === "number" ? ["descending", "ascending"] : ["ascending", "descending"];
      // After both, the order that the table came in.
      const next = order[order.indexOf(header.getAttribute("aria-sort")) + 1];
      headers.forEach((other) => other.removeAttribute("aria-sort"));
      let sorted = data;
      if (next) {
        header.setAttribute("aria-sort", next);
        const column = headers.indexOf(header);
        const keyed = data.map((row) => {
          const text = row.cells[column].textContent.trim();
          const value = kind === "number" ? number(text) : text;
          return { row, value, none: missing.has(text) || Number.isNaN(value) };
        });
        sorted = keyed.sort(compare(kind, next === "ascending" ? 1 : -1)).map(({ row }) => row);
      }
      body.append(...sorted, ...summary);
    };

    headers.forEach((header) => {
      header.querySelector("button")?.addEventListener("click", () => sort(header));
    });

    const controls = frame.querySelector(".controls");
    if (!controls) return;
    controls.hidden = false;
    const input = controls.querySelector("input");
    const count = controls.querySelector(".count");
    const texts = data.map((row) =>
      [...row.cells].map((cell) => cell.textContent).join("\n").toLowerCase());
    input.addEventListener("input", () => {
      const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const fits = texts.map((text) => wanted.every((word) => text.includes(word)));
      data.forEach((row, i) => { row.hidden = !fits[i]; });
      const left = fits.filter(Boolean).length;
      count.textContent = left === data.length ? `${left} rows` : `${left} of ${data.length} rows`;
    });
  };

  document.querySelectorAll(".data-table").forEach(prepare);
})();
