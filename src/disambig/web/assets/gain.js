"use strict";
// What decisions change, in numbers and in sentences. Every number supposes that decisions are right.

const NEXT_ROWS = 100;
const ENOUGH_TO_WARN = 10;
const ENOUGH_TO_SCALE = 20;
const UNLIKELY = 0.01;
const A_BREAK = 120; // seconds: whoever takes longer did something else
const ENOUGH_PACES = 5;

// The chance of at most so many events of which each happens by itself (Poisson binomial).
function chanceOfAtMost(most, chances) {
  const counts = new Float64Array(most + 1);
  counts[0] = 1;
  for (const chance of chances) {
    for (let count = most; count > 0; count -= 1) {
      counts[count] += (counts[count - 1] - counts[count]) * chance;
    }
    counts[0] *= 1 - chance;
  }
  return counts.reduce((sum, one) => sum + one, 0);
}

const doubtOf = (row) => 1 - row.confidences[0];
const sumOf = (rows, of) => rows.reduce((sum, row) => sum + of(row), 0);

// rows are those of the list, without the ones whose label is known; decisionOn tells what stands;
// isAsked whether a row is still to be settled; errors are those expected in the whole table. Chances
// are only known where rows are alone: those of a group are often right or wrong together.
function gainOf(rows, { decisionOn, isAsked, errors, areAlone }) {
  const done = rows.filter((row) => decisionOn(row) !== null);
  const left = rows.filter(isAsked);
  const labelled = done.filter((row) => decisionOn(row).answer === null);
  // Who cannot tell, or rules out only another label than the model's, has neither changed nor
  // confirmed its choice.
  const judged = done.filter((row) => {
    const { label, answer } = decisionOn(row);
    if (answer === NOT_THIS) return [label].flat().includes(row.table.labels[0]);
    return answer === null || answer === "none of these";
  });
  const doubts = judged.map((row) => 1 - row.table.confidences[0]);
  const changed = judged.filter((row) =>
    !isSameDecision(decisionOn(row), asDecision(row.table.labels[0]))).length;
  const expected = doubts.reduce((sum, doubt) => sum + doubt, 0);
  const isJudged = areAlone && judged.length >= ENOUGH_TO_WARN && changed < expected;
  const next = left.slice(0, NEXT_ROWS);
  const scale = judged.length >= ENOUGH_TO_SCALE && expected > 0 ? changed / expected : null;
  return {
    done: done.length,
    left: left.length,
    sure: rows.length - done.length - left.length,
    rows: rows.length,
    // Confidences here are rounded.
    now: Math.max(0, errors - sumOf(labelled, doubtOf)),
    after: Math.max(0, errors - sumOf(labelled, doubtOf) - sumOf(left, doubtOf)),
    judged: judged.length,
    changed,
    expected,
    tail: isJudged ? chanceOfAtMost(changed, doubts) : 1,
    next: next.length,
    nextErrors: sumOf(next, doubtOf),
    nextChanges: scale === null ? null : scale * sumOf(next, doubtOf),
  };
}

const IF_RIGHT = "if your decisions are right";

function durationText(seconds) {
  if (seconds < 60) return "less than a minute";
  if (seconds < 90 * 60) return `about ${Math.round(seconds / 60)} min`;
  return `about ${plural(Math.round(seconds / 3600), "hour")}`;
}

function progressText({ done, rows, left, now }, secondsEach) {
  const time = left === 0 ? [] : [durationText(left * secondsEach)];
  return [
    `${done.toLocaleString("en")} of ${rows.toLocaleString("en")}`,
    `${aboutSome(now, "error")} left${done === 0 ? "" : ` ${IF_RIGHT}`}`,
    ...time.map((text) => `${text} to go`),
  ].join(" · ");
}

// Sentences, each with whether it is a warning.
function gainSentences(gain, { total, before }) {
  const sentences = [];
  const tell = (text, isBad = false) => sentences.push([text[0].toUpperCase() + text.slice(1), isBad]);
  const then = gain.done === 0 ? "" : ` ${IF_RIGHT}, ${about(before)} before`;
  tell(`${about(gain.now)} of ${total.toLocaleString("en")} labels are expected to be wrong${then}.`
    + (gain.left === 0 ? "" : ` Once all rows here are settled correctly: ${about(gain.after)}.`));
  if (gain.sure > 0) tell(`Their groups made ${plural(gain.sure, "row")} sure.`);
  if (gain.judged > 0) {
    tell(`You changed ${gain.changed} of ${plural(gain.judged, "label")}; ${about(gain.expected)} ${gain.expected >= 1.5 ? "were" : "was"} expected to change.`);
  }
  if (gain.tail < UNLIKELY) {
    const chance = gain.tail < 0.001 ? "less than 1 in 1,000" : `about 1 in ${Math.round(1 / gain.tail).toLocaleString("en")}`;
    tell(`So few changes have a chance of ${chance} if the confidences are right. Either the model is better than it says, or its choice was taken over too readily: the errors may well be where they were. `
      + "Look again at some of these rows, in a blind review.", true);
  }
  if (gain.next > 0) {
    const rows = gain.next < NEXT_ROWS ? `The ${plural(gain.next, "row")} left` : `The next ${NEXT_ROWS} rows`;
    const changes = gain.nextChanges === null ? ""
      : `; going by your answers so far, they change ${aboutSome(gain.nextChanges, "label")}`;
    tell(`${rows}: ${aboutSome(gain.nextErrors, "expected error")}${changes}.`);
  }
  return sentences;
}

// How long this reviewer takes for a row, or what people take.
class Pace {
  #usual;
  #shown = performance.now();
  #seconds = [];

  constructor(usual) {
    this.#usual = usual;
  }

  show() {
    this.#shown = performance.now();
  }

  answer() {
    const seconds = (performance.now() - this.#shown) / 1000;
    if (seconds < A_BREAK) this.#seconds.push(seconds);
  }

  get secondsEach() {
    const latest = this.#seconds.slice(-50).sort((one, other) => one - other);
    return latest.length < ENOUGH_PACES ? this.#usual : latest[Math.floor(latest.length / 2)];
  }
}
