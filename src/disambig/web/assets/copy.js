"use strict";
// Buttons that copy the text of another element, named by data-copy. They are hidden until this
// script runs; where the clipboard is closed to it, the text is selected, to be copied by hand.
(() => {
  const SHOWN_FOR = 2000;

  const select = (element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  };

  const say = (button, words) => {
    const before = button.dataset.label ?? button.textContent;
    button.dataset.label = before;
    button.textContent = words;
    setTimeout(() => { button.textContent = before; }, SHOWN_FOR);
  };

  const copy = async (button) => {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent.trim());
      say(button, "Copied");
    } catch {
      select(source);
      say(button, "Selected: copy it now");
    }
  };

  document.querySelectorAll("button[data-copy]").forEach((button) => { button.hidden = false; });
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button[data-copy]");
    if (button) copy(button);
  });
})();
