"use strict";
// On paper nothing can be opened: what is closed is open while the page is printed.
(() => {
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((one) => { one.open = true; });
  });
  addEventListener("afterprint", () => {
    opened.forEach((one) => { one.open = false; });
    opened = [];
  });
})();
