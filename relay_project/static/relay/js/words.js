// Words, numbers and durations in the reader's language. The words come with the page.
const words = JSON.parse(document.getElementById("queue-words").textContent);
const language = document.documentElement.lang;
const plain = new Intl.NumberFormat(language);
const compact = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 });
const tenths = new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const hour = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit" });
const dayAndHour = new Intl.DateTimeFormat(language, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
const exact = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" });

/** A phrase with its `{places}` filled in. */
export function say(group, key, values = {}) {
  return words[group][key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** The word for a code; a code without one is shown as it came. */
export function wordFor(group, code) {
  return words[group][code] ?? code;
}

export function knows(group, code) {
  return code in words[group];
}

export function number(n) {
  return n < 10_000 ? plain.format(n) : compact.format(n);
}

/** 800 ms → "0.8 s", 130 s → "2 min 10 s", 3 h 12 min … */
export function duration(ms) {
  if (ms < 9_950) return say("time", "seconds", { s: tenths.format(Math.max(0, ms) / 1000) });
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return say("time", "seconds", { s: seconds });
  if (seconds < 3_600) return say("time", "minutes", { m: Math.floor(seconds / 60), s: seconds % 60 });
  const minutes = Math.round(seconds / 60);
  if (minutes < 1_440) return say("time", "hours", { h: Math.floor(minutes / 60), m: minutes % 60 });
  const hours = Math.round(minutes / 60);
  return say("time", "days", { d: Math.floor(hours / 24), h: hours % 24 });
}

/** A moment as people say it: the hour today, else with the day. */
export function moment(date) {
  return (date.toDateString() === new Date().toDateString() ? hour : dayAndHour).format(date);
}

export function exactly(date) {
  return exact.format(date);
}
