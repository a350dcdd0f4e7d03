"use strict";
// Small things that scripts of a page share. Texts enter as text, never as HTML.

const byId = (id) => document.getElementById(id);

const filled = (made, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

const make = (tag, attributes = {}, ...children) =>
  filled(document.createElement(tag), attributes, children);

const makeSvg = (tag, attributes = {}, ...children) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

const percent = (share) => `${(100 * share).toFixed(1)} %`;

// Long names break after underscores, not inside words.
const breakable = (name) => name.split(/(?<=_)/).flatMap((part) => [part, make("wbr")]);

// Estimates are told in whole numbers, thousands with three digits, as in the sentences of a report.
// None is never promised: confidences are rounded.
const about = (count) => {
  if (count < 0.5) return "fewer than 1";
  const whole = Math.round(count);
  return `about ${(whole < 1000 ? whole : Number(whole.toPrecision(3))).toLocaleString("en")}`;
};

const aboutSome = (count, one, more = `${one}s`) => `${about(count)} ${count < 1.5 ? one : more}`;

const plural = (count, one, more = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : more}`;
