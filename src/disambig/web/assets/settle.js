"use strict";
// Settle doubtful rows one after the other: what keys and buttons do, and what is shown then.
// Everything from the table enters as text, never as HTML.

{
  const data = JSON.parse(byId("doubtful").textContent);
  const all = rowsOf(data);
  const rowOf = new Map(all.map((row) => [row.number, row]));
  const served = data.savedIn !== null;
  const { blind: isBlind = false, isGiven = false } = data.review ?? {};
  const hasGroups = data.groups !== null;
  const hasMisses = data.misses.length > 0;
  const decisions = served ? new ServerDecisions() : new BrowserDecisions(data.key);
  const decisionOn = (row) => decisions.of(row.number);
  const keys = keysOfLabels(data.classes, all);
  const pace = new Pace(data.secondsEach);
  const failed = new Set(); // rows whose latest answers were not saved
  let current = null;
  let waiting = 0; // answers that change what other rows of their group say

  const groups = new RowGroups(data.groups, all, { served, isBlind, decisionOn, open: (row) => show(row) });
  const queue = new RowQueue(all, decisions, groups, { surest: data.groups?.surest ?? 0, isGiven });
  const card = new Card(data, keys, { decisionOn, choose: (decision) => decide(decision) });
  const values = new RowValues(data, all, { served });
  const why = new Why(data, {
    hides: (row) => isBlind && queue.isOpen(row),
    values: values.valuesOf,
    isText: values.isText,
    tellColumns: (row, names) => values.mark(row, names),
  });
  const summary = new Summary(data, queue, pace);
  const list = new RowList(queue, { hasNames: data.id !== null, hasGroups, hasMisses, isBlind }, (row) => {
    show(row);
    byId("card").scrollIntoView({ block: "nearest" });
  });

  const say = (text, { isBad = false, row = null } = {}) => {
    const parts = [text];
    if (row !== null) {
      const button = make("button", { type: "button" }, `Show row ${row.number}`);
      button.addEventListener("click", () => show(row));
      parts.push(" ", button);
    }
    byId("status").replaceChildren(...parts);
    byId("status").classList.toggle("warn", isBad);
  };

  // What is shown.
  const show = (row) => {
    const wasOver = current === null;
    const focused = byId("card").contains(document.activeElement) ? document.activeElement : null;
    current = row;
    if (wasOver || row === null) summary.show(row);
    pace.show();
    for (const id of ["choices", "skip", "other-label", "values"]) byId(id).hidden = row === null;
    for (const button of byId("other-answers").querySelectorAll("[data-answer]")) button.hidden = row === null;
    byId("undo").disabled = !decisions.canUndo;
    groups.show(row);
    values.show(row);
    why.show(row);
    byId("columns-left-out").hidden = row === null || data.columnsLeftOut === 0;
    if (row !== null) showCard(row);
    // Whoever moves by keyboard, or hears the page, goes on at the new row.
    if (focused !== null && isGone(focused)) byId("card-title").focus({ preventScroll: true });
  };

  const isGone = (element) =>
    !element.isConnected || element.disabled || element.closest("[hidden]") !== null;

  const showCard = (row) => {
    const wanted = queue.wanted();
    const place = wanted.indexOf(row) + 1; // 0 if the filter has been changed since, or not doubtful
    const first = hasGroups ? "the group with the most doubtful row first" : "the most doubtful first";
    const order = isGiven ? "" : `, ${first}`;
    card.show(row, place ? `${place.toLocaleString("en")} of ${wanted.length.toLocaleString("en")}${order}.` : "");
    const after = queue.coming(row).find((one) => one !== row);
    if (after !== undefined) {
      why.prefetch(after);
      values.fetch(after);
    }
  };

  const showAll = () => {
    summary.show(current);
    if (hasGroups || byId("state-filter").value !== "") list.arrange({ keepPage: true });
    else list.show();
    byId("undo").disabled = !decisions.canUndo;
    byId("export").disabled = summary.decided().length === 0;
  };

  const showNext = (from) => show(queue.coming(from)[0] ?? null);

  // What is done.
  const savedWhere = () => {
    if (served) return ` in ${data.savedIn}`;
    return decisions.lasting ? " in this browser" : " until this page is closed: save them as a file";
  };

  const modelText = (row) => {
    if (!isBlind) return "";
    return ` The model: ${row.table.labels[0]} ${percent(row.table.confidences[0])}.`;
  };

  // The next row is shown at once, so that every key is about the row that is seen. Only where an
  // answer changes what is said of the next row, keys wait for it.
  const decide = async (decision) => {
    const row = current;
    if (row === null || isWaiting()) return;
    pace.answer();
    const waits = served && (row.group?.isTold ?? false);
    if (waits) {
      waiting += 1;
      say("Saving …");
    }
    const saving = decisions.save(row.number, decision);
    if (!waits) showNext(row);
    try {
      const saved = await saving;
      failed.delete(row);
      takeConfidences(all, data.classes, decisions.confidences);
      if (saved) say(`Saved${savedWhere()}: ${decisionText(decision)}.${modelText(row)}`);
      else tellConflict(row, waits);
      if (waits && row === current) { // unless another was opened meanwhile
        if (saved) showNext(row);
        else show(row);
      } else if (hasGroups) show(current);
    } catch (error) {
      // Nobody is taken back to it: the next key may be about the row that is seen.
      failed.add(row);
      const numbers = [...failed].map(({ number }) => number).join(", ");
      const rows = `${failed.size === 1 ? "row" : "rows"} ${numbers}`;
      say(`Not saved: ${rows}. ${error.message}`, { isBad: true, row: [...failed][0] });
      if (current === null) showNext(null); // it is not the end after all
    } finally {
      if (waits) waiting -= 1;
    }
    showAll();
  };

  const isWaiting = () => {
    if (waiting > 0) say("Still saving: that key was not taken.", { isBad: true });
    return waiting > 0;
  };

  const tellConflict = (row, isShown) => {
    const standing = decisionOn(row);
    const what = standing === null ? "it is open again" : `it is now ${decisionText(standing)}`;
    if (isShown) say("This row was settled in another tab. Choose again to change it.", { isBad: true });
    else say(`Row ${row.number} was settled in another tab (${what}), so your answer was not saved.`, { isBad: true, row });
  };

  const undo = async () => {
    if (isWaiting() || !decisions.canUndo) return;
    say("Undoing …");
    try {
      const number = await decisions.undo();
      takeConfidences(all, data.classes, decisions.confidences);
      const row = rowOf.get(number);
      if (number === undefined) say("There is nothing to undo.");
      else if (number === null) say("Nothing was undone: another tab has decided on that row meanwhile.", { isBad: true });
      else if (row === undefined) say(`Undone: row ${number}, which is not on this page.`);
      else {
        say("Undone.");
        show(row);
      }
    } catch (error) {
      say(`Not undone. ${error.message}`, { isBad: true });
    }
    showAll();
  };

  const skip = () => {
    if (current === null || isWaiting()) return;
    queue.skip(current);
    say("Skipped; the row comes back at the end.");
    showNext(current);
  };

  const exportFile = () => {
    const named = summary.decided().map((row) => [row.name, decisionOn(row)]);
    const file = new Blob([decisionsAsCsv(data.id ?? "row", named)], { type: "text/csv" });
    const link = make("a", { href: URL.createObjectURL(file), download: "decisions.csv" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // some browsers read it later
    say(`${plural(named.length, "decision")} ${named.length === 1 ? "was" : "were"} saved as decisions.csv.`);
  };

  // Wiring.
  if (hasGroups && !isGiven) list.sortBy("list-group");
  else if (!isGiven && !isBlind) list.sortBy("list-confidence");
  else list.arrange();
  const option = (label) => make("option", { value: label }, label);
  const occurring = new Set(all.flatMap((row) => [...row.labels, row.miss?.label]));
  byId("class-filter").append(...data.classes.filter((label) => occurring.has(label)).map(option));
  byId("other").append(...data.classes.map(option));
  const filter = (event) => {
    queue.startAgain();
    showNext(null);
    list.arrange();
    // So that keys choose; but who moves by keyboard stays here.
    if (!event.target.matches(":focus-visible")) event.target.blur();
  };
  byId("class-filter").addEventListener("change", filter);
  byId("doubt-filter").addEventListener("change", filter);
  byId("state-filter").addEventListener("change", () => list.arrange());
  for (const id of ["doubt-label", "list-doubt"]) byId(id).hidden = !hasMisses;
  byId("other").addEventListener("change", () => {
    byId("choose-other").disabled = byId("other").value === "";
  });
  byId("choose-other").addEventListener("click", () => decide(asDecision(byId("other").value)));
  for (const button of byId("other-answers").querySelectorAll("[data-answer]")) {
    button.addEventListener("click", () => decide(asDecision(null, button.dataset.answer)));
  }
  byId("undo").addEventListener("click", undo);
  byId("skip").addEventListener("click", skip);
  byId("export").addEventListener("click", exportFile);
  if (isGiven) byId("list-title").textContent = "The rows of this review";
  else if (data.totals.doubtful > data.rows.length) byId("list-title").textContent = `The ${plural(data.rows.length, "most doubtful row")}`;
  byId("list-name").firstElementChild.textContent = data.id ?? "";
  byId("list-name").hidden = data.id === null;
  byId("list-group").firstElementChild.textContent = groups.title;
  byId("list-group").hidden = !hasGroups;
  showLegend(keys, data.classes);
  byId("columns-left-out").textContent = `${data.columnsLeftOut} more columns are not shown: the page would be too large.`;

  // Keys decide only on a row that is in sight: a report has other parts. While little more than the
  // top of the row is, its choices, which stay at hand, cover its title.
  const isInSight = () => {
    const { top, bottom } = byId("answers").getBoundingClientRect();
    const middle = (top + bottom) / 2;
    const isCovered = top < byId("card").querySelector("header").getBoundingClientRect().bottom;
    return middle > 0 && middle < innerHeight && !isCovered;
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.closest("input, select, textarea") || (current !== null && !isInSight())) return;
    const { key } = event;
    if (key === UNDO_KEY) undo();
    else if (key === SKIP_KEY) skip();
    else if (key === HELP_KEY) byId("legend").open = !byId("legend").open;
    else if (current === null || card.press(key)) return;
    else if (ANSWER_KEYS.has(key)) decide(asDecision(null, ANSWER_KEYS.get(key)));
    else {
      const label = [...keys.keys()].find((one) => keys.get(one) === key);
      if (label !== undefined) say(`${label} is not among the candidates of this row. To choose it, take it from the list.`, { isBad: true });
    }
  });

  const refresh = async (start) => {
    try {
      await decisions.load();
      takeConfidences(all, data.classes, decisions.confidences);
      if (start) showNext(null);
      else if (current !== null && (!queue.isOpen(current) || hasGroups)) show(current);
      showAll();
    } catch (error) {
      say(error.message, { isBad: true });
    }
  };
  // Another tab may have decided in the meantime.
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) refresh(false);
  });
  // Who leaves the page now would lose what is not saved yet.
  addEventListener("beforeunload", (event) => {
    if (decisions.isSaving) event.preventDefault();
  });
  refresh(true);
}
