// The editor of the page of SQL, and the queries that this browser has run. `make editor` bundles it.
// The text field stays the field of the form, and without this script it is the editor.
import {acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap} from "@codemirror/autocomplete";
import {defaultKeymap, history, historyKeymap} from "@codemirror/commands";
import {SQLDialect, schemaCompletionSource, sql} from "@codemirror/lang-sql";
import {bracketMatching, syntaxHighlighting} from "@codemirror/language";
import {EditorState, RangeSetBuilder} from "@codemirror/state";
import {Decoration, EditorView, drawSelection, keymap, lineNumbers} from "@codemirror/view";
import {classHighlighter} from "@lezer/highlight";

const KEPT = "queries", MOST = 50;

const field = document.querySelector("[data-query]");
const words = JSON.parse(field.dataset.words);

/** Complete the columns of the tables that the query names, after those of a table with its alias; without a table, all. */
function columns(context) {
  const word = context.matchBefore(/\w+/);
  if (!word) return null;
  const text = context.state.doc.toString().toLowerCase();
  const named = Object.keys(words.tables).filter((table) => new RegExp(`\\b${table}\\b`).test(text));
  const known = named.length ? named : Object.keys(words.tables);
  const found = new Map(known.flatMap((table) => words.tables[table].map((column) => [column, named.length ? table : ""])));
  return {from: word.from, validFor: /^\w*$/, options: [...found].map(([label, detail]) => ({label, detail, type: "property"}))};
}

/** Mark the place of the error that the page shows. */
function errorMark(doc) {
  const builder = new RangeSetBuilder();
  const number = Number(field.dataset.line || 0);
  if (number > 0 && number <= doc.lines) {
    const line = doc.line(number), at = field.dataset.at, start = at ? line.text.indexOf(at) : -1;
    const [from, to] = start < 0 ? [line.from, line.to] : [line.from + start, line.from + start + at.length];
    if (to > from) builder.add(from, to, Decoration.mark({class: "wrong"}));
  }
  return EditorView.decorations.of(builder.finish());
}

function edit() {
  const dialect = SQLDialect.define({keywords: words.keywords.join(" "), doubleQuotedStrings: false});
  const support = sql({dialect, schema: words.tables});
  const run = () => (field.form.requestSubmit(), true);
  const doc = EditorState.create({doc: field.defaultValue}).doc;
  const view = new EditorView({
    doc,
    extensions: [
      EditorView.cspNonce.of(field.dataset.nonce),
      EditorView.contentAttributes.of({"aria-label": field.labels[0].textContent, spellcheck: "false"}),
      keymap.of([{key: "Mod-Enter", run, preventDefault: true}, {key: "Tab", run: acceptCompletion}]),
      keymap.of([...closeBracketsKeymap, ...completionKeymap, ...defaultKeymap, ...historyKeymap]),
      history(), drawSelection(), lineNumbers(), bracketMatching(), closeBrackets(),
      autocompletion(), support, dialect.language.data.of({autocomplete: columns}),
      syntaxHighlighting(classHighlighter), EditorView.lineWrapping, errorMark(doc),
      EditorView.updateListener.of((update) => { if (update.docChanged) field.value = update.state.doc.toString(); }),
    ],
  });
  field.before(view.dom);
  field.hidden = true;
  // On Back, a browser may show the typed text over the text of the address.
  window.addEventListener("pageshow", () => {
    view.dispatch({changes: {from: 0, to: view.state.doc.length, insert: field.defaultValue}});
  });
}

/** Show the queries of this browser, the newest first, and add the one of this page if it had an answer. */
function remember() {
  const place = document.getElementById("earlier");
  let earlier = [];
  try { earlier = JSON.parse(localStorage.getItem(KEPT)) || []; } catch { return; }
  if (field.dataset.answered) {
    earlier = [field.defaultValue, ...earlier.filter((one) => one !== field.defaultValue)].slice(0, MOST);
    try { localStorage.setItem(KEPT, JSON.stringify(earlier)); } catch { return; }
  }
  if (!earlier.length) return;
  const list = place.querySelector("ul");
  for (const text of earlier) {
    const item = document.createElement("li"), link = document.createElement("a");
    link.href = `sql?query=${encodeURIComponent(text)}`;
    link.textContent = text.replace(/\s+/g, " ").slice(0, 120);
    item.append(link);
    list.append(item);
  }
  place.hidden = false;
  place.querySelector("button").addEventListener("click", () => {
    localStorage.removeItem(KEPT);
    place.hidden = true;
  });
}

edit();
remember();
