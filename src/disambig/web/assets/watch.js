"use strict";
// What cleaning again in the background has found. Only in a review that was started with --watch.

const SECONDS_BETWEEN_LOOKS = 3;

function watchText({ state, decisions, errors, errors_before: before, message }) {
  const yours = plural(decisions ?? 0, "decision");
  if (state === "cleaning") return `Cleaning again with your ${yours} …`;
  if (state === "failed") return `Cleaning again has failed: ${message}`;
  // Also before there is anything to tell, so that nothing moves under a finger later.
  if (state !== "done") return "The table will be cleaned again as you decide.";
  return `Cleaned again with your ${yours}: ${aboutSome(errors, "error")} expected, ${about(before)} before.`;
}

function showWatch(found) {
  const bar = byId("watch");
  const text = watchText(found);
  bar.hidden = false;
  if (bar.dataset.text === text) return;
  bar.dataset.text = text;
  const button = make("button", { type: "button" }, "Show the new queue");
  button.addEventListener("click", () => location.reload());
  bar.replaceChildren(make("span", {}, text), ...(found.state === "done" ? [button] : []));
  bar.classList.toggle("warn", found.state === "failed");
}

{
  const { review } = JSON.parse(byId("doubtful").textContent);
  const look = async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch("watch");
      if (answer.status === 200) showWatch(await answer.json());
    } catch {
      // Saving says that the server is gone.
    }
  };
  if (review?.watch) {
    showWatch({ state: "waiting" });
    look();
    setInterval(look, 1000 * SECONDS_BETWEEN_LOOKS);
  }
}
