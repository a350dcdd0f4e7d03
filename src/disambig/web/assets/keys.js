"use strict";
// Keys belong to labels: the same key means the same label on every row.

const ANSWER_KEYS = new Map([["n", "none of these"], ["c", "cannot tell"], ["b", "bad row"]]);
const [YES_KEY, NO_KEY, UNDO_KEY, SKIP_KEY, HELP_KEY] = ["y", "x", "u", "s", "?"];
const COMMAND_KEYS = new Set([...ANSWER_KEYS.keys(), YES_KEY, NO_KEY, UNDO_KEY, SKIP_KEY]);
const LABEL_KEYS = [..."123456789abcdefghijklmnopqrstuvwxyz"].filter((key) => !COMMAND_KEYS.has(key));

// The key of every label, in the order of the classes. Of more labels than keys, those have one that
// are candidates most often.
function keysOfLabels(classes, rows) {
  let keyed = classes;
  if (classes.length > LABEL_KEYS.length) {
    const counts = new Map(classes.map((label) => [label, 0]));
    for (const { table } of rows) {
      for (const label of table.labels) counts.set(label, counts.get(label) + 1);
    }
    const often = [...classes].sort((one, other) => counts.get(other) - counts.get(one));
    const most = new Set(often.slice(0, LABEL_KEYS.length));
    keyed = classes.filter((label) => most.has(label));
  }
  return new Map(keyed.map((label, place) => [label, LABEL_KEYS[place]]));
}

function showLegend(keys, classes) {
  byId("label-keys").replaceChildren(
    ...[...keys].map(([label, key]) => make("li", {}, make("kbd", {}, key), " ", label)),
  );
  const left = classes.length - keys.size;
  byId("keys-left-out").hidden = left === 0;
  byId("keys-left-out").textContent =
    `There are more labels than keys. The ${keys.size} labels that are candidates most often have one; the other ${left} are chosen by their buttons or from the list.`;
}
