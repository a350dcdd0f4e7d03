"use strict";
// The rows of a page: the doubtful ones, then others of their groups (mates).

const labelled = (classes, candidates, confidences) =>
  ({ candidates, confidences, labels: candidates.map((place) => classes[place]) });

function rowsOf({ classes, rows, misses, groups }) {
  // Rows whose set may miss the right label, and the label they would then have.
  const missOf = new Map(misses.map(([number, probability, place]) =>
    [number, { probability, label: place === null ? null : classes[place] }]));
  const asRow = ([number, name, candidates, confidences, opinions, values], isMate) => ({
    number, name, opinions, values, isMate,
    table: labelled(classes, candidates, confidences), // what the table says
    ...labelled(classes, candidates, confidences), // what decisions on its group make of it
    miss: missOf.get(number) ?? null,
  });
  return [
    ...rows.map((row) => asRow(row, false)),
    ...(groups?.mates ?? []).map((row) => asRow(row, true)),
  ];
}

// Let rows say what all decisions that stand make of them.
function takeConfidences(rows, classes, confidences) {
  for (const row of rows) {
    const said = confidences.get(row.number);
    Object.assign(row, said === undefined ? row.table : labelled(classes, ...said));
  }
}
