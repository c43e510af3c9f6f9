// A picture → the page, in place.
import { put, run, still } from "./clocks.js";
import { copyOf, drawBars, drawFacts, drawLanes, drawState, drawWhy, keep, slot, windowFacts } from "./drawing.js";
import { duration, knows, number, say, wordFor } from "./words.js";

const MOST_CARS = 24;
const MOST_ROWS = 30;
const owners = JSON.parse(document.getElementById("queue-owners").textContent);

export function drawQueue(root, picture, atMs) {
  drawRelay(root, picture);
  const rows = rowsByModel(picture);
  const fill = (element, provider) => drawProvider(element, provider, rows, atMs);
  keep(slot(root, "providers"), picture.providers, (p) => p.id, makeProvider, fill);
  slot(root, "nothing").hidden = picture.providers.length > 0;
}

function drawRelay(root, { relay, providers }) {
  const booths = slot(root, "booths");
  drawBars(booths, relay.limit, relay.running, Math.min(relay.waiting, MOST_CARS));
  const running = say("fact", "running", { running: number(relay.running), limit: number(relay.limit) });
  const waiting = say("fact", "waiting", { waiting: number(relay.waiting) });
  booths.setAttribute("aria-label", `${running}, ${waiting}`);
  put(slot(root, "running"), running);
  put(slot(root, "waiting"), waiting);
  const room = Math.max(0, relay.inside_limit - relay.inside);
  put(slot(root, "room"), room ? say("fact", "room", { room: number(room) }) : say("fact", "no_room"));
  slot(root, "room").classList.toggle("none", room === 0);
  const classes = Object.entries(relay.waiting_by_class);
  put(slot(root, "classes"), classes.map(([name, n]) => `${wordFor("class", name)} ${number(n)}`).join(" · "));
  const quiet = relay.inside === 0 && providers.length > 0;
  slot(root, "quiet").hidden = !quiet;
  slot(root, "classes").hidden = quiet;
}

/** Model id → its rows in the order they are drawn: running, the longest first, then the line. */
function rowsByModel({ leases, tickets }) {
  const rows = new Map();
  const add = (row) => rows.set(row.model, [...(rows.get(row.model) ?? []), row]);
  [...leases].sort((a, b) => b.running_ms - a.running_ms).forEach(add);
  [...tickets].sort((a, b) => a.place - b.place).forEach(add);
  return rows;
}

/** Links that only staff have. */
function show(link, wanted) {
  if (link) link.hidden = !wanted;
}

function makeProvider(provider) {
  const element = copyOf("provider");
  for (const link of element.querySelectorAll('a[href*="PROVIDER"]')) {
    link.href = link.getAttribute("href").replace("PROVIDER", encodeURIComponent(provider.id));
  }
  return element;
}

function drawProvider(element, provider, rows, atMs) {
  const { state } = provider;
  element.dataset.word = state.word;
  put(slot(element, "name"), provider.name);
  drawState(element.querySelector("header > .state"), state);
  drawLanes(slot(element, "lanes"), provider.running, provider.limit);
  slot(element, "lanes").hidden = state.word === "unconfigured";
  put(slot(element, "line"), lineWords(provider));
  drawFacts(slot(element, "facts"), providerFacts(provider), atMs);
  drawWhy(slot(element, "why"), state, atMs);
  element.querySelector(":scope > .why").hidden = slot(element, "why").textContent === "";
  show(slot(element, "set-up"), state.word === "unconfigured");
  const fill = (child, model) => drawModel(child, model, provider, rows.get(model.id) ?? [], atMs);
  keep(slot(element, "models"), provider.models, (m) => m.id, () => copyOf("model"), fill);
}

function lineWords({ state, waiting, max_waiting }) {
  if (state.word === "unconfigured") return "";
  return say("fact", "line", { waiting: number(waiting), limit: number(max_waiting) });
}

function providerFacts(provider) {
  const facts = [];
  const running = provider.longest_running_ms;
  if (provider.state.word === "full" && running !== null) {
    facts.push({ key: "longest", startMs: running, step: 1, text: (ms) => say("fact", "longest", { time: duration(ms) }) });
  } else if (provider.next_start_ms > 0) {
    facts.push({ key: "next", startMs: provider.next_start_ms, step: -1, text: nextStart });
  }
  return [...facts, ...windowFacts(provider.windows)];
}

/** Told at the provider where it holds for all its models, else at the model. */
function drawNext(element, model, provider, atMs) {
  if (provider.next_start_ms > 0 || !(model.next_start_ms > 0)) return still(element, "");
  return run(element, { startMs: model.next_start_ms, atMs, step: -1, text: nextStart });
}

function nextStart(ms) {
  return ms <= 0 ? say("fact", "next_start_soon") : say("fact", "next_start", { time: duration(ms) });
}

function drawModel(element, model, provider, rows, atMs) {
  put(slot(element, "name"), model.name);
  slot(element, "name").title = model.name;
  drawLanes(slot(element, "lanes"), model.running, model.limit);
  const own = model.state.word !== "open" && model.state.word !== provider.state.word;
  drawState(slot(element, "state"), model.state);
  slot(element, "state").hidden = !own;
  drawWhy(slot(element, "why"), own ? model.state : { word: "open" }, atMs);
  show(slot(element, "reset"), model.state.word === "closed");
  drawRows(element, model, rows, atMs);
  drawNext(slot(element, "next"), model, provider, atMs);
  drawFacts(slot(element, "facts"), windowFacts(model.windows), atMs);
}

function drawRows(element, model, rows, atMs) {
  const list = slot(element, "rows");
  keep(list, rows.slice(0, MOST_ROWS), (row) => row.id, () => copyOf("row"), (child, row) => drawRow(child, row, model, atMs));
  const scrolls = list.scrollWidth > list.clientWidth;
  scrolls ? list.setAttribute("tabindex", "0") : list.removeAttribute("tabindex");
  const shown = rows.slice(0, MOST_ROWS).filter((row) => "place" in row).length;
  const others = model.waiting - shown;
  const words = shown ? say("fact", "others", { n: number(others) }) : say("fact", "waiting", { waiting: number(others) });
  put(slot(element, "more"), others > 0 ? words : "");
}

function drawRow(element, row, model, atMs) {
  const waits = "place" in row;
  element.classList.toggle("own", row.own);
  element.classList.toggle("running", !waits);
  put(slot(element, "mark"), waits ? String(row.place) : "");
  put(slot(element, "place"), waits ? say("fact", "place", { n: row.place }) : "");
  put(slot(element, "owner"), ownerName(row));
  put(slot(element, "tags"), tags(row));
  const since = waits ? ["waited", row.waited_ms] : ["since", row.running_ms];
  run(slot(element, "time"), { startMs: since[1], atMs, step: 1, text: (ms) => say("fact", since[0], { time: duration(ms) }) });
  drawThen(slot(element, "then"), row, atMs);
  drawCancel(slot(element, "cancel"), row, model);
}

function drawThen(element, row, atMs) {
  if (!("place" in row)) return still(element, "");
  const why = row.reason ? ` (${wordFor("wait", row.reason)})` : "";
  if (row.estimated_start_ms === null) return still(element, say("fact", "starts_unknown") + why);
  const text = (ms) => (ms <= 0 ? say("fact", "starts_soon") : say("fact", "starts", { time: duration(ms) })) + why;
  return run(element, { startMs: row.estimated_start_ms, atMs, step: -1, text });
}

function drawCancel(button, row, model) {
  if (!button) return;
  button.hidden = !("place" in row);
  button.dataset.ticket = row.id;
  button.dataset.which = `${ownerName(row)} · ${model.name}`;
}

function ownerName(row) {
  if (row.own) return say("fact", "you");
  if (row.owner in owners) return owners[row.owner];
  return say("fact", "user", { number: row.owner.split(":").pop() });
}

function tags(row) {
  const purpose = knows("purpose", row.purpose) ? [wordFor("purpose", row.purpose)] : [];
  const klass = row.class === "interactive" ? [] : [wordFor("class", row.class)];
  return [...purpose, ...klass].join(" · ");
}
