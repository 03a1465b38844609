// The review page: keys, verdicts, undo. Cases are loaded into the page, so that messages stay.
"use strict";

const $ = (id) => document.getElementById(id);
const token = document.querySelector("meta[name=canon-token]").content;
const GONE = "The server does not answer. Your verdicts are saved: start canon review --web again.";
const ASKS = {
  date: ["When did it first come out?", "YYYY, YYYY-MM or YYYY-MM-DD", "Date"],
  there: ["On which record did it first come out?",
    "A candidate's number, or the id or address of a release group or release at MusicBrainz",
    "Record"],
  other: ["Which record is right?",
    "The id or address of a release group, a release or a recording at MusicBrainz", "Record"],
  same: ["Which recording is the same performance?",
    "The id or address of a recording at MusicBrainz", "Recording"],
  reject: ["What is wrong with the proposal?", "In a few words; it is stored with the verdict",
    "Reason"],
};
const given = []; // the cases with a verdict from this page, the newest last
const BULK = { f: "album", e: "reason", g: "proposal" };
let busy = false;

function say(text, { notes = [], undo = false } = {}) {
  $("alert").hidden = true;
  $("toast").hidden = false;
  $("status").textContent = [text, ...notes].join(". ");
  $("undo").hidden = !undo;
}

function warn(text) {
  $("toast").hidden = true;
  $("alert").hidden = false;
  $("alert").textContent = text;
}

function problemIn(text) { // a page of the server, or plain text
  const heading = new DOMParser().parseFromString(text, "text/html").querySelector("h1");
  return heading ? heading.textContent : text;
}

async function call(url, body) {
  const options = body && {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Canon-Token": token },
    body: JSON.stringify(body),
  };
  const response = await fetch(url, options);
  const isJson = (response.headers.get("content-type") || "").startsWith("application/json");
  if (!isJson) throw new Error(problemIn(await response.text()));
  return response.json();
}

async function show(url, push = true) {
  const response = await fetch(url);
  const text = await response.text();
  const page = new DOMParser().parseFromString(text, "text/html");
  if (!page.getElementById("main")) throw new Error(text);
  $("main").replaceChildren(...page.getElementById("main").childNodes);
  document.title = page.title;
  const progress = page.getElementById("progress");
  if (progress) $("progress").textContent = progress.textContent;
  if (push) history.pushState(null, "", response.url);
  for (const link of document.querySelectorAll(".top nav a")) {
    const same = page.querySelector(`.top nav a[href="${link.getAttribute("href")}"]`);
    if (same && same.hasAttribute("aria-current")) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  $("toast").hidden = $("alert").hidden = true;
  window.scrollTo(0, 0);
  const heading = document.querySelector("#main h1");
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

function ask(title, hint, fields, ok = "OK") {
  $("ask-title").textContent = title;
  $("ask-hint").textContent = hint;
  $("ask-ok").textContent = ok;
  $("ask-fields").replaceChildren(...fields);
  const dialog = $("ask");
  dialog.returnValue = "";
  dialog.showModal();
  (fields.length ? fields[0].querySelector("input") : $("ask-ok")).focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "ok"), { once: true });
  });
}

function field(label, attributes) {
  const row = document.createElement("label");
  const input = Object.assign(document.createElement("input"), attributes);
  if (attributes.type === "radio") row.append(input, ` ${label}`);
  else row.append(`${label} `, input);
  return row;
}

const current = () => $("case") && $("case").dataset;
const filters = () => Object.fromEntries(new URLSearchParams(current().query));

async function finish(answer) {
  given.push(current().id);
  await show(answer.next);
  say(answer.message, { notes: answer.notes, undo: true });
}

async function give(body) {
  const { is_sure, ...verdict } = body;
  const change = { verdict, is_sure: Boolean(is_sure), filters: filters() };
  const answer = await call(`/case/${current().id}/verdict`, change);
  if (answer.next) return finish(answer);
  if (answer.confirm) {
    if (await ask("Save it?", answer.problem, [], "Save")) await give({ ...body, ...answer.confirm });
    return;
  }
  if (answer.recordings) {
    const choices = Object.entries(answer.recordings).map(([value, name], number) =>
      field(name, { type: "radio", name: "recording", value, checked: number === 0 }));
    if (await ask("Which recording is it?", answer.problem, choices)) {
      await give({ ...body, recording: $("ask").querySelector("input:checked").value });
    }
    return;
  }
  if (answer.settled) await show(location.href, false);
  warn(answer.problem);
}

async function giveTyped(action, text = "") {
  const [title, hint, label] = ASKS[action];
  const input = { value: text, required: true, autocomplete: "off", spellcheck: false };
  const fields = [field(label, input)];
  if (action === "reject") {
    fields.push(field("What is right, if you know", { autocomplete: "off", name: "right" }));
  }
  if (!(await ask(title, hint, fields, "Save"))) return;
  const [typed, right] = fields.map((row) => row.querySelector("input").value.trim());
  if (action === "reject") await give({ action, reason: typed, text: right });
  else await give({ action: action === "other" ? "choose" : action, text: typed });
}

async function acceptAlike(by) {
  const { id } = current();
  const { count, examples } = await call(`/case/${id}/alike/${by}`);
  const names = examples.join("; ") + (count > examples.length ? " and more" : "");
  if (!(await ask(`Accept ${count} proposals?`, names, [], `Accept ${count}`))) return;
  const answer = await call(`/case/${id}/alike`, { by, count, filters: filters() });
  if (answer.next) await finish(answer);
  else warn(answer.problem);
}

async function undo() {
  const here = current();
  const id = here && "undo" in here ? here.id : given.at(-1);
  const answer = await call("/undo", { id, filters: here ? filters() : {} });
  if (given.includes(id)) given.splice(given.lastIndexOf(id), 1);
  if (!answer.next) return warn(answer.problem);
  await show(answer.next);
  say(answer.message);
}

async function run(work) {
  if (busy) return;
  busy = true;
  try {
    await work();
  } catch (error) {
    warn(error instanceof TypeError ? GONE : error.message);
  } finally {
    busy = false;
  }
}

function act(action, text = "") {
  if (action === "undo") return run(undo);
  if (!("waits" in current())) return warn("This case does not wait for you any more.");
  if (action in ASKS) return run(() => giveTyped(action, text));
  return run(() => give({ action, text }));
}

function press(key) {
  const click = (selector) => {
    const target = document.querySelector(selector);
    if (target) target.click();
    return Boolean(target);
  };
  if (key === "?") return $("help").showModal(), true;
  if (key === "/") return $("search").focus(), true;
  if (key === "q") return run(() => show(`/queue${current() ? current().query : ""}`)), true;
  if (key === "u") return run(undo), true;
  if (!current()) return false;
  if (key === "n") return click("#following");
  if (key === "p") return click("#previous");
  if (key in BULK) return click(`[data-alike=${BULK[key]}]`);
  if (key === " " && $("audio")) return $("audio").paused ? $("audio").play() : $("audio").pause(), true;
  return click(`[data-act][aria-keyshortcuts="${CSS.escape(key)}"]`);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.repeat && !"np".includes(event.key)) return; // a key held down is one verdict
  if (document.querySelector("dialog[open]") || !$("keys-on").checked) return;
  const { target } = event;
  if (target.closest("input, select, textarea")) {
    if (event.key === "Escape") target.blur();
    return;
  }
  if (event.key === " " && target.closest("button, a, summary, audio")) return;
  if (press(event.key)) event.preventDefault();
});

document.addEventListener("click", (event) => {
  const target = event.target.closest("[data-act], [data-alike], #following, #previous");
  if (!target || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (event.detail > 1 && target.tagName === "BUTTON") return; // a double click is one verdict
  if (target.dataset.act) act(target.dataset.act, target.dataset.text);
  else if (target.dataset.alike) run(() => acceptAlike(target.dataset.alike));
  else run(() => show(target.href));
});

document.addEventListener("paste", (event) => {
  const text = event.clipboardData.getData("text").trim();
  if (event.target.closest("input, textarea") || !current() || !("waits" in current())) return;
  if (/musicbrainz\.org\/|^[0-9a-f-]{36}$/i.test(text)) act("other", text);
});

document.addEventListener("error", (event) => {
  if (event.target.id === "audio") $("no-audio").hidden = false;
}, true);

$("undo").addEventListener("click", () => run(undo));
$("help-button").addEventListener("click", () => $("help").showModal());
$("keys-on").checked = sessionStorage.getItem("keys") !== "off";
$("keys-on").addEventListener("change", (event) => {
  sessionStorage.setItem("keys", event.target.checked ? "on" : "off");
});
window.addEventListener("popstate", () => run(() => show(location.href, false)));
