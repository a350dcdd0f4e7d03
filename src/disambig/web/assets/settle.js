"use strict";
// Settle doubtful rows one after the other. Everything from the table enters as text, never as HTML.

{
  const data = JSON.parse(byId("doubtful").textContent);
  const all = rowsOf(data);
  const rowOf = new Map(all.map((row) => [row.number, row]));
  const served = data.savedIn !== null;
  const decisions = served ? new ServerDecisions() : new BrowserDecisions(data.key);
  const undoable = []; // what this tab did, so that it can be taken back: [number, label before]
  const skipped = new Set();
  let current = null;
  let busy = false;

  const say = (text, isBad = false) => {
    byId("status").textContent = text;
    byId("status").classList.toggle("warn", isBad);
  };

  // Which row comes next.
  const wanted = () => byId("class-filter").value;
  const hasWantedLabel = (row) =>
    wanted() === "" || row.labels.includes(wanted()) || row.miss?.label === wanted();
  const hasWantedDoubt = (row) => {
    const kind = byId("doubt-filter").value;
    return kind === "" || (kind === "set") === (row.miss !== null);
  };
  const settledLabel = (row) => decisions.labels.get(row.number);
  const isOpen = (row) => settledLabel(row) === undefined;
  const isDoubtful = (row) => (decisions.confidences.has(row.number)
    ? row.confidences[0] <= data.groups.surest : !row.isMate);
  // Other rows of a group are listed once they have become doubtful, or were settled here.
  const isListed = (row) =>
    !row.isMate || isDoubtful(row) || (!isOpen(row) && row.labels.length > 1);
  const listedRows = () => groups.inOrder(all.filter(isListed));
  const inQueue = () => listedRows().filter((row) => hasWantedLabel(row) && hasWantedDoubt(row));
  const next = () => {
    const open = inQueue().filter((row) => isOpen(row) && isDoubtful(row));
    const ready = open.filter((row) => !skipped.has(row.number));
    // One picture after the other.
    const together = ready.find((row) => row.group !== null && row.group === current?.group);
    return together ?? ready[0] ?? again(open);
  };
  const again = (open) => {
    for (const row of open) skipped.delete(row.number);
    return open[0] ?? null;
  };

  // What is shown.
  const showGain = () => {
    const rows = all.filter(isListed);
    const done = rows.filter((row) => !isOpen(row));
    const left = rows.filter((row) => isOpen(row) && isDoubtful(row));
    const sure = rows.length - done.length - left.length;
    const doubt = (some) => some.reduce((sum, row) => sum + 1 - row.confidences[0], 0);
    const { errors, rows: total } = data.totals;
    // Confidences here are rounded.
    const without = (some) => Math.max(0, (decisions.errors ?? errors) - doubt(some));
    const now = without(done);
    const facts = [
      [`${left.length}`, `rows left of ${rows.length}${sure ? `; their groups made ${sure} sure` : ""}`],
      [now.toFixed(1), `labels expected to be wrong if your decisions are right, ${errors.toFixed(1)} before`],
      [percent(1 - now / total), `expected to be right, ${percent(1 - errors / total)} before`],
      [without(rows).toFixed(1), "expected to be wrong once all rows here are settled correctly"],
    ];
    byId("gain").replaceChildren(
      ...facts.map(([figure, what]) => make("li", {}, make("strong", {}, figure), make("span", {}, what))),
    );
  };

  // The label from outside the set comes first, unless it is among the candidates.
  const isOutside = ({ labels, miss }) => miss?.label != null && !labels.includes(miss.label);
  const choicesOf = (row) => (isOutside(row) ? [row.miss.label, ...row.labels] : row.labels);

  const candidateParts = (row, place) => [
    make("span", {}, percent(row.confidences[place])),
    make("progress", { max: 1, value: row.confidences[place], "aria-hidden": "true" }),
    ...row.opinions.map((said, network) =>
      make("span", { class: "note" }, `network ${network + 1}: ${percent(said[inTable(row, place)])}`)),
  ];
  // Networks say what they said, in the order of the table.
  const inTable = (row, place) => row.table.candidates.indexOf(row.candidates[place]);

  const showChoices = (row) => {
    const choices = choicesOf(row).map((label, i) => {
      const key = i < 9 ? make("kbd", {}, String(i + 1)) : "";
      const place = row.labels.indexOf(label);
      const parts = place < 0
        ? [make("span", { class: "note" }, "not in the set")] : candidateParts(row, place);
      const isChosen = settledLabel(row) === label;
      const button = make(
        "button", { type: "button", "aria-pressed": String(isChosen) },
        key, make("strong", {}, label), ...parts,
      );
      button.addEventListener("click", () => decide(label));
      return make("li", {}, button);
    });
    byId("choices").replaceChildren(...choices);
  };

  const missText = ({ probability, label }) => {
    const then = label === null ? "" : ` It would then be: ${label}.`;
    return `The set may miss the right label: probability ${probability.toFixed(2)}.${then}`;
  };

  const show = (row) => {
    current = row;
    for (const id of ["choices", "values", "skip"]) byId(id).hidden = row === null;
    byId("other-label").hidden = row === null;
    byId("miss").hidden = !row?.miss;
    byId("undo").disabled = undoable.length === 0;
    groups.show(row);
    if (row === null) {
      const onPage = data.rows.length;
      const sure = all.some((one) => isListed(one) && isOpen(one) && !isDoubtful(one));
      const done = `All rows here are settled${sure ? ", or sure by what was settled in their groups" : ""}`;
      byId("card-title").textContent = onPage ? done : "No rows need to be checked";
      byId("card-place").textContent = data.totals.doubtful > onPage
        ? `${data.totals.doubtful - onPage} less doubtful rows are not on this page.` : "";
      return;
    }
    byId("card-title").textContent =
      data.id === null ? `Row ${row.number}` : `${data.id} ${row.name}, row ${row.number}`;
    const queue = inQueue();
    const place = queue.indexOf(row) + 1; // 0 if the filter has been changed since, or not doubtful
    const first = data.groups === null ? "the most doubtful first" : "the group with the most doubtful row first";
    byId("card-place").textContent = [
      place ? `${place} of ${queue.length}, ${first}.` : "",
      isOpen(row) ? "" : `Decided: ${settledLabel(row)}.`,
    ].join(" ");
    if (row.miss) byId("miss").textContent = missText(row.miss);
    byId("other").value = "";
    byId("choose-other").disabled = true;
    showChoices(row);
    byId("values").replaceChildren(
      ...data.columns.map((name, place) =>
        make("div", {}, make("dt", {}, name), make("dd", {}, row.values[place]))),
    );
  };

  const showAll = () => {
    showGain();
    if (hasGroups) list.arrange({ keepPage: true });
    else list.show();
    byId("export").disabled = all.every(isOpen);
  };

  // What is done.
  const save = async (number, label) => {
    if (busy) return false;
    busy = true;
    say("Saving …");
    try {
      const before = decisions.labels.get(number) ?? null;
      const saved = await decisions.save(number, label);
      takeConfidences(all, data.classes, decisions.confidences);
      if (saved) undoable.push([number, before]);
      else say("This row was settled in another tab. Choose again to change it.", true);
      return saved;
    } catch (error) {
      say(`Not saved. ${error.message}`, true);
      return false;
    } finally {
      busy = false;
    }
  };

  const savedWhere = () => {
    if (served) return ` in ${data.savedIn}`;
    return decisions.lasting ? " in this browser" : " until this page is closed: save them as a file";
  };

  const decide = async (label) => {
    const row = current;
    if (row === null) return;
    const saved = await save(row.number, label);
    if (saved) say(`Saved${savedWhere()}: ${label}.`);
    if (row === current) show(saved ? next() : row); // unless another was opened meanwhile
    else if (hasGroups) show(current);
    showAll();
  };

  const undo = async () => {
    const last = undoable.at(-1);
    if (last === undefined || busy) return;
    const [number, before] = last;
    if (await save(number, before)) {
      undoable.splice(-2); // itself, and what it took back
      say("Undone.");
      show(rowOf.get(number));
    }
    showAll();
  };

  const skip = () => {
    if (current === null || busy) return;
    skipped.add(current.number);
    say("Skipped; the row comes back at the end.");
    show(next());
  };

  const exportFile = () => {
    const named = all.filter((row) => !isOpen(row))
      .map((row) => [row.name, settledLabel(row)]);
    const file = new Blob([decisionsAsCsv(data.id ?? "row", named)], { type: "text/csv" });
    const link = make("a", { href: URL.createObjectURL(file), download: "decisions.csv" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // some browsers read it later
    say(`${named.length} decisions were saved as decisions.csv.`);
  };

  const hasMisses = data.misses.length > 0;
  const hasGroups = data.groups !== null;
  const groups = new RowGroups(data.groups, all, { served, settledLabel, open: (row) => show(row) });
  const list = new RowList(listedRows, { hasNames: data.id !== null, hasGroups, hasMisses }, {
    settledLabel,
    hasWantedDoubt,
    open: (row) => {
      show(row);
      byId("card").scrollIntoView({ block: "nearest" });
    },
  });
  if (hasGroups) list.sortBy("list-group");
  else list.arrange();

  // Wiring.
  const option = (label) => make("option", { value: label }, label);
  const occurring = new Set(all.flatMap(choicesOf));
  byId("class-filter").append(...data.classes.filter((label) => occurring.has(label)).map(option));
  byId("other").append(...data.classes.map(option));
  const filter = (event) => {
    skipped.clear();
    show(next());
    // So that number keys choose; but who moves by keyboard stays here.
    if (!event.target.matches(":focus-visible")) event.target.blur();
  };
  byId("class-filter").addEventListener("change", filter);
  byId("doubt-filter").addEventListener("change", (event) => {
    filter(event);
    list.arrange();
  });
  for (const id of ["doubt-label", "list-doubt"]) byId(id).hidden = !hasMisses;
  byId("other").addEventListener("change", () => {
    byId("choose-other").disabled = byId("other").value === "";
  });
  byId("choose-other").addEventListener("click", () => decide(byId("other").value));
  byId("undo").addEventListener("click", undo);
  byId("skip").addEventListener("click", skip);
  byId("export").addEventListener("click", exportFile);
  byId("list-name").firstElementChild.textContent = data.id ?? "";
  byId("list-name").hidden = data.id === null;
  byId("list-group").firstElementChild.textContent = groups.title;
  byId("list-group").hidden = !hasGroups;
  if (data.columnsLeftOut > 0) {
    byId("columns-left-out").textContent = `${data.columnsLeftOut} more columns are not shown: the page would be too large.`;
    byId("columns-left-out").hidden = false;
  }
  // Keys decide only on a row that is in sight: a report has other parts.
  const isInSight = () => {
    const { top, bottom } = byId("choices").getBoundingClientRect();
    return top < innerHeight && bottom > 0;
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.closest("input, select, textarea") || (current !== null && !isInSight())) return;
    const choices = current === null ? [] : choicesOf(current);
    const label = /^[1-9]$/.test(event.key) ? choices[Number(event.key) - 1] : undefined;
    if (label !== undefined) decide(label);
    else if (event.key === "u") undo();
    else if (event.key === "s") skip();
  });

  const refresh = async (start) => {
    try {
      await decisions.load();
      takeConfidences(all, data.classes, decisions.confidences);
      const isStale = current !== null && (!isOpen(current) || hasGroups);
      if (start || isStale) show(start ? next() : current);
      showAll();
    } catch (error) {
      say(error.message, true);
    }
  };
  // Another tab may have decided in the meantime.
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) refresh(false);
  });
  refresh(true);
}
