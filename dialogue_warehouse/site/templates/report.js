// Opens rows, sorts, filters and searches them, and keeps the filters in the URL. Without it every row stays readable.
"use strict";

function setOpen(button, isOpen) {
  button.setAttribute("aria-expanded", String(isOpen));
  document.getElementById(button.getAttribute("aria-controls")).hidden = !isOpen;
}

document.addEventListener("click", (event) => {
  const row = event.target.closest(".ledger > tbody > tr:not(.more)");
  if (!row || event.target.closest("a")) return;
  const button = row.querySelector("button[aria-controls]");
  if (button) setOpen(button, button.getAttribute("aria-expanded") !== "true");
});

function openTarget() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  const button = target.querySelector("button[aria-controls]");
  if (button) setOpen(button, true);
  if (target.tagName === "DETAILS") target.open = true;
  target.hidden = false;
  target.scrollIntoView();
}

function prepare(form) {
  const list = document.getElementById(form.dataset.filters);
  const rows = [...list.querySelectorAll("[data-row]")];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const selects = [...form.querySelectorAll("[data-filter]")];
  const search = form.querySelector("[data-search]");
  const shown = form.querySelector("[data-shown]");

  function apply() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    rows.forEach((row, index) => {
      const fits = selects.every(({ value, dataset }) => {
        const own = row.dataset[dataset.filter];
        return !value || own === value || (dataset.filter === "corpus" && own.split(" ").includes(value));
      });
      row.hidden = !(fits && words.every((word) => texts[index].includes(word)));
      count += !row.hidden;
    });
    if (rows.some((row) => row.dataset.name)) {
      const isNamed = (row) => words.length > 0 && words.every((word) => row.dataset.name.includes(word));
      list.append(...rows.filter(isNamed), ...rows.filter((row) => !isNamed(row)));
    }
    shown.textContent = `${count.toLocaleString("en")} of ${rows.length.toLocaleString("en")} ${list.dataset.noun}`;
  }

  function remember() {
    const wanted = new URLSearchParams();
    selects.forEach(({ value, dataset }) => value && wanted.set(dataset.filter, value));
    if (search.value) wanted.set("search", search.value);
    const text = wanted.toString();
    history.replaceState(null, "", (text ? `?${text}` : location.pathname) + location.hash);
  }

  const given = new URLSearchParams(location.search);
  selects.forEach((select) => {
    const value = given.get(select.dataset.filter);
    if ([...select.options].some((option) => option.value === value)) select.value = value;
  });
  search.value = given.get("search") || "";
  form.addEventListener("input", () => { apply(); remember(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  apply();
}

const NUMBER = /^[-+]?[\d,]+(\.\d+)?%?(?= |$)/;

function compareCells(one, other) {
  const [left, right] = [one, other].map((text) => (text.match(NUMBER) || [""])[0].replace(/[,%]/g, ""));
  if (left && right) return left - right;
  return one === "" || other === "" ? (one === "") - (other === "") : one.localeCompare(other, "en", { numeric: true });
}

function makeSortable(table) {
  const heads = [...table.tHead.rows].at(-1).cells;
  const columns = [...heads].map((head) => head.cellIndex);
  [...heads].forEach((head, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const isRising = head.getAttribute("aria-sort") !== "ascending";
      [...heads].forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", isRising ? "ascending" : "descending");
      const isGrouped = table.classList.contains("ledger");
      const rows = isGrouped ? [...table.tBodies] : [...table.tBodies[0].rows];
      const text = (row) => (isGrouped ? row.rows[0] : row).cells[columns[index]].textContent.trim();
      const sorted = rows.map((row) => [text(row), row]).sort(([one], [other]) => compareCells(one, other));
      if (!isRising) sorted.reverse();
      (isGrouped ? table : table.tBodies[0]).append(...sorted.map(([, row]) => row));
    });
  });
}

document.documentElement.classList.add("scripted");
document.querySelectorAll("table.sortable").forEach(makeSortable);
document.querySelectorAll("form[data-filters]").forEach(prepare);
window.addEventListener("hashchange", openTarget);
openTarget();
