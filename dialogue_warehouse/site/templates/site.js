// Keys of the pages, and the place of an open dialogue in its list. Without it every page works.
"use strict";

const field = document.querySelector("[data-query]");

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target === field) {
    event.preventDefault();
    field.form.requestSubmit();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, [contenteditable]")) return;
  if (event.key === "/") {
    const search = document.querySelector("[data-focus], [name=search]");
    if (!search) return;
    event.preventDefault();
    search.focus();
    search.select();
  } else if (event.key === "?") {
    const help = document.querySelector(".keys");
    help.tabIndex = -1;
    help.focus();
  } else {
    const link = [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === event.key);
    (link || (event.key === "j" ? document.querySelector(".found a") : null))?.click();
  }
});

// The URL of a page leaves out the empty fields of a form.
document.addEventListener("formdata", ({ formData }) => {
  for (const [name, value] of [...formData]) if (value === "") formData.delete(name);
});

// The server ends a query when its request is cancelled.
const stop = document.querySelector("[data-stop]");
field?.form.addEventListener("submit", () => { stop.hidden = false; });
stop?.addEventListener("click", () => {
  window.stop();
  stop.hidden = true;
});

// On Back and reload, a browser restores what was typed and chosen over the state of the URL.
window.addEventListener("pageshow", (event) => {
  if (event.persisted || performance.getEntriesByType("navigation")[0].type !== "navigate") {
    for (const form of document.querySelectorAll("form[method]")) form.reset();
  }
  if (!field) return;
  field.value = field.defaultValue;
  stop.hidden = true;
});

const list = document.querySelector(".reading .list");
const open = list?.querySelector("[data-open]");
if (open && list.scrollHeight > list.clientHeight) list.scrollTop = open.offsetTop - list.clientHeight / 3;

// A button on each turn copies its URL, and one beside the dialogue its key.
function copying(name, text) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = name;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
    setTimeout(() => { button.textContent = name; }, 1500);
  });
  return button;
}

if (navigator.clipboard) {
  for (const turn of document.querySelectorAll(".turn[data-row]")) {
    const link = `${location.origin}/?key=${encodeURIComponent(turn.dataset.row)}`;
    turn.querySelector(".who").append(" ", copying("copy link", link));
  }
  for (const dialogue of document.querySelectorAll(".dialogue[data-row]")) {
    dialogue.querySelector("h1").append(" ", copying("copy key", dialogue.dataset.row));
  }
}
