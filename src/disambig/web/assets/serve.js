"use strict";
// Predict the rows in the text area, and show what the server answers.
(() => {
  const answer = byId("answer");
  // The address of the page holds the token; commands have it in a header.
  const origin = location.origin;
  document.querySelectorAll(".with-address").forEach((code) => {
    code.textContent = code.textContent.replace("ADDRESS", origin);
  });

  const cell = (value) => {
    if (Array.isArray(value)) return value.join(", ");
    return value === null ? "" : String(value);
  };

  const table = (predictions) => {
    const names = Object.keys(predictions[0]);
    const head = make("tr", {}, ...["row", ...names].map((name) => make("th", { scope: "col", "data-kind": "text" }, name)));
    const rows = predictions.map((one, place) => make("tr", {},
      make("th", { scope: "row" }, String(place + 1)),
      ...names.map((name) => make("td", { class: "name" }, cell(one[name])))));
    const whole = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
    return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Predictions" }, whole);
  };

  const say = (words, kind) => answer.replaceChildren(make("p", { class: kind }, words));

  const predict = async () => {
    let response;
    try {
      response = await fetch("predict?top=3", {
        method: "POST", body: byId("rows").value, headers: { "Content-Type": "application/json" },
      });
    } catch {
      say("The server does not answer. Is it still running?", "error");
      return;
    }
    const content = await response.json();
    if (!response.ok) {
      say(content.error, "error");
      return;
    }
    answer.replaceChildren(table(content.predictions), ...content.notices.map((one) => make("p", { class: "note" }, one)));
  };

  byId("predict").addEventListener("click", predict);
})();
