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
let ignoresKeysUntil = 0; // a refusal closed a dialog: what is still typed belongs to its text

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const reasonOf = (error) => (error instanceof TypeError ? GONE : error.message);

function say(text, { notes = [], undo = false } = {}) {
  $("alert").hidden = true;
  $("toast").hidden = false;
  $("status").textContent = [text, ...notes].map(sentence).join(". ");
  $("undo").hidden = !undo;
}

function warn(text) {
  $("toast").hidden = true;
  $("alert").hidden = false;
  $("alert").textContent = sentence(text);
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

function complain(text) { // in the open dialog, whose fields keep their text
  const inputs = [...$("ask-fields").querySelectorAll("input")];
  const input = inputs.find((other) => other === document.activeElement) || inputs[0];
  $("ask-problem").textContent = sentence(text);
  if (!input) return;
  input.setAttribute("aria-invalid", "true");
  input.focus();
  if (input.type !== "radio") input.select();
}

// Show a dialog until the person cancels or the server takes what `send` sends; return its answer.
async function ask(title, hint, fields, send, ok = "OK") {
  $("ask-title").textContent = title;
  $("ask-problem").textContent = "";
  $("ask-hint").textContent = hint;
  $("ask-ok").textContent = ok;
  $("ask-fields").replaceChildren(...fields);
  const dialog = $("ask");
  for (const row of fields) {
    row.querySelector("input").setAttribute("aria-describedby", "ask-hint ask-problem");
  }
  dialog.showModal();
  (fields.length ? fields[0].querySelector("input") : $("ask-ok")).focus();
  let sent = null; // the answer of the server to come, also if the dialog is closed before it
  $("ask-form").onsubmit = async (event) => {
    if (event.submitter !== $("ask-ok")) return;
    event.preventDefault();
    if (sent) return;
    sent = send();
    try {
      if (!isRefused(await sent)) return dialog.close();
      complain((await sent).problem);
    } catch (error) {
      complain(reasonOf(error));
    }
    if (dialog.open) sent = null;
  };
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  try {
    const answer = await sent;
    if (answer && (answer.settled || isRefused(answer))) ignoreKeys();
    return answer;
  } catch (error) {
    ignoreKeys();
    throw error;
  }
}

const ignoreKeys = () => { ignoresKeysUntil = performance.now() + 1000; };
const isRefused = (answer) =>
  !(answer.next || answer.confirm || answer.recordings || answer.settled);

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

function send(body) {
  const { is_sure, ...verdict } = body;
  const change = { verdict, is_sure: Boolean(is_sure), filters: filters() };
  return call(`/case/${current().id}/verdict`, change);
}

// Act on the answer to a verdict; there is none if the person cancelled.
async function take(answer, body) {
  if (!answer) return;
  if (answer.next) return finish(answer);
  if (answer.confirm) {
    const sure = { ...body, ...answer.confirm };
    return take(await ask("Save it?", answer.problem, [], () => send(sure), "Save"), sure);
  }
  if (answer.recordings) {
    const choices = Object.entries(answer.recordings).map(([value, name], number) =>
      field(name, { type: "radio", name: "recording", value, checked: number === 0 }));
    const chosen = () =>
      ({ ...body, recording: $("ask-fields").querySelector("input:checked").value });
    const next = await ask("Which recording is it?", answer.problem, choices, () => send(chosen()));
    return take(next, next && chosen());
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
  const verdict = () => {
    const [typed, right] = fields.map((row) => row.querySelector("input").value.trim());
    if (action === "reject") return { action, reason: typed, text: right };
    return { action: action === "other" ? "choose" : action, text: typed };
  };
  let body;
  const answer = await ask(title, hint, fields, () => send(body = verdict()), "Save");
  await take(answer, body);
}

async function acceptAlike(by) {
  const { id } = current();
  const { count, examples } = await call(`/case/${id}/alike/${by}`);
  const names = examples.join("; ") + (count > examples.length ? " and more" : "");
  const accept = () => call(`/case/${id}/alike`, { by, count, filters: filters() });
  await take(await ask(`Accept ${count} proposals?`, names, [], accept, `Accept ${count}`));
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
    warn(reasonOf(error));
  } finally {
    busy = false;
  }
}

function act(action, text = "") {
  if (action === "undo") return run(undo);
  if (!("waits" in current())) return warn("This case does not wait for you any more.");
  if (action in ASKS) return run(() => giveTyped(action, text));
  return run(async () => take(await send({ action, text }), { action, text }));
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
  if (performance.now() < ignoresKeysUntil) return;
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
