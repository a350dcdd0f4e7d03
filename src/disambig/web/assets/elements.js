"use strict";
// Small things that scripts of a page share. Texts enter as text, never as HTML.

const byId = (id) => document.getElementById(id);

const make = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

const percent = (share) => `${(100 * share).toFixed(1)} %`;
