"use strict";
// Tips of charts: by pointer, by touch and by arrow keys. What they say is text, never markup.
(() => {
  const tip = document.getElementById("tip");
  if (!tip) return;
  let active = null;

  const hide = () => {
    if (active) active.classList.remove("active");
    active = null;
    tip.hidden = true;
  };

  const show = (mark) => {
    if (mark !== active) hide();
    active = mark;
    mark.classList.add("active");
    tip.textContent = mark.dataset.tip;
    tip.hidden = false;
    const box = mark.getBoundingClientRect();
    const size = tip.getBoundingClientRect();
    const room = document.documentElement.clientWidth;
    const middle = box.left + (box.width - size.width) / 2;
    const above = Math.max(box.top, 0) - size.height - 8;
    tip.style.left = `${Math.max(4, Math.min(middle, room - size.width - 4))}px`;
    tip.style.top = `${above > 4 ? above : Math.min(box.bottom + 8, innerHeight - size.height - 4)}px`;
  };

  // The place of the mark that an arrow key leads to; the ends are where it stops.
  const next = (key, place, count) => {
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    if (key === "Home") return 0;
    if (key === "End") return count - 1;
    if (!(key in steps)) return -1;
    if (place < 0) return steps[key] > 0 ? 0 : count - 1;
    return Math.max(0, Math.min(count - 1, place + steps[key]));
  };

  const markOf = (event) => event.target.closest?.("svg .mark[data-tip]");

  document.addEventListener("pointerover", (event) => {
    const mark = markOf(event);
    if (mark) show(mark);
    else if (active && event.pointerType === "mouse") hide();
  });
  document.addEventListener("click", (event) => {
    const mark = markOf(event);
    if (mark) show(mark);
    else hide();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return hide();
    if (event.ctrlKey || event.altKey || event.metaKey) return undefined;
    const svg = event.target.closest?.("svg[tabindex]");
    if (!svg) return undefined;
    const marks = [...svg.querySelectorAll(".mark[data-tip]")];
    const place = next(event.key, marks.indexOf(active), marks.length);
    if (place < 0 || !marks.length) return undefined;
    event.preventDefault();
    marks[place].scrollIntoView({ block: "nearest", inline: "nearest" });
    tip.setAttribute("aria-live", "polite");
    return show(marks[place]);
  });
  document.addEventListener("focusout", (event) => {
    if (event.target.closest?.("svg[tabindex]")) hide();
  });
  addEventListener("scroll", () => { if (active) show(active); }, { passive: true, capture: true });
})();
