// Small pieces of drawing: templates, lists that keep their elements, lanes, facts, states.
import { put, run, still } from "./clocks.js";
import { duration, exactly, moment, number, say, wordFor } from "./words.js";

const MOST_BARS = 16;

/** A copy of a <template>'s only element. */
export function copyOf(id) {
  return document.getElementById(id).content.firstElementChild.cloneNode(true);
}

/** The element with that `data-slot`; null where this reader has none. */
export function slot(root, name) {
  return root.querySelector(`[data-slot="${name}"]`);
}

/** Make the children of `list` match `items` by key, keeping the elements that stay (and so focus and scrolling). */
export function keep(list, items, keyOf, make, fill) {
  const old = new Map([...list.children].map((child) => [child.dataset.key, child]));
  let next = list.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    const child = old.get(key) ?? make(item);
    child.dataset.key = key;
    old.delete(key);
    if (child === next) next = next.nextElementSibling;
    else list.insertBefore(child, next);
    fill(child, item);
  }
  for (const gone of old.values()) gone.remove();
}

export function drawLanes(root, running, limit) {
  const bars = root.querySelector(".bars");
  const wide = limit > MOST_BARS;
  bars.classList.toggle("wide", wide);
  drawBars(bars, wide ? 1 : Math.max(limit ?? 0, limit === null ? 0 : running), wide ? 0 : running);
  bars.style.setProperty("--share", `${(100 * Math.min(running, limit)) / limit}%`);
  put(root.querySelector(".count"), limit === null ? number(running) : `${number(running)}/${number(limit)}`);
}

/** `count` bars, the first `on` of them lit, then `cars` waiting ones. */
export function drawBars(parent, count, on, cars = 0) {
  const total = count + cars;
  while (parent.childElementCount > total) parent.lastElementChild.remove();
  while (parent.childElementCount < total) parent.append(document.createElement("i"));
  [...parent.children].forEach((bar, index) => {
    bar.classList.toggle("on", index < on);
    bar.classList.toggle("car", index >= count);
    bar.classList.toggle("first", index === count);
  });
}

export function drawState(root, state) {
  root.dataset.word = state.word;
  const use = root.querySelector("use");
  const shape = `#shape-${state.word}`;
  if (use.getAttribute("href") !== shape) use.setAttribute("href", shape);
  put(slot(root, "word"), wordFor("state", state.word));
}

/** Why it is not open, until when, in words: "used up · opens 16:00 (in 3 h 12 min)". Empty when there is no more to say. */
export function drawWhy(root, state, atMs) {
  const said = state.message || reasonOf(state);
  root.title = state.closed_until ? exactly(new Date(state.closed_until)) : "";
  if (state.word !== "closed") return still(root, said);
  if (state.opens_in_ms === null) return still(root, joined(said, say("fact", "opens_unknown")));
  const opens = new Date(state.closed_until);
  return run(root, { startMs: state.opens_in_ms, atMs, step: -1, text: (ms) => joined(said, opening(ms, opens)) });
}

/** Full lanes speak for themselves; a full line does not. */
function reasonOf({ word, reason }) {
  if (word === "open" || (word === "full" && reason !== "line")) return "";
  return wordFor("closed", reason);
}

function opening(ms, opens) {
  return ms <= 0 ? say("fact", "opens_soon") : say("fact", "opens", { moment: moment(opens), time: duration(ms) });
}

function joined(...parts) {
  return parts.filter(Boolean).join(" · ");
}

/** Facts side by side; each is {key, text} or {key, startMs, step, text(ms)}. */
export function drawFacts(root, facts, atMs) {
  keep(root, facts, (fact) => fact.key, () => document.createElement("span"), (element, fact) => {
    if (typeof fact.text === "string") still(element, fact.text);
    else run(element, { ...fact, atMs });
  });
}

/** Windows of one period in one fact: "58 of 60 requests · 812K of 1M tokens this minute". */
export function windowFacts(windows) {
  const periods = new Map();
  for (const window of windows) {
    periods.set(window.window_s, [...(periods.get(window.window_s) ?? []), windowUse(window)]);
  }
  return [...periods].map(([seconds, uses]) => {
    return { key: `window-${seconds}`, text: say("window", "within", { uses: uses.join(" · "), period: period(seconds) }) };
  });
}

function windowUse({ used, limit, measure, mode }) {
  const values = { used: number(used), limit: number(limit), what: wordFor("window", measure) };
  return say("window", mode === "estimate" ? "about" : "used", values);
}

const PERIODS = { 1: "second", 60: "minute", 3600: "hour", 86400: "day", 604800: "week" };

function period(seconds) {
  if (seconds in PERIODS) return say("window", PERIODS[seconds]);
  if (seconds > 604800) return say("window", "month");
  return say("window", "other", { time: duration(seconds * 1000) });
}
