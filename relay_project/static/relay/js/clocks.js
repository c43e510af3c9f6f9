// Times that run by themselves: the server says them once, the page counts on.
const TICK_MS = 200;
const running = new Map(); // element → its clock

/** Show `text(ms)` in `element`, where ms now is `startMs` and grows (`step` 1) or shrinks (-1) from `atMs` on. */
export function run(element, { startMs, atMs, step, text }) {
  running.set(element, { startMs, atMs, step, text });
  show(element, running.get(element));
}

/** Show a text that stands still. */
export function still(element, text) {
  running.delete(element);
  put(element, text);
}

/** Only a text that differs is written: nothing is read out or repainted for nothing. */
export function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function show(element, clock) {
  put(element, clock.text(clock.startMs + clock.step * (performance.now() - clock.atMs)));
}

setInterval(() => {
  if (document.hidden) return;
  for (const [element, clock] of running) {
    if (element.isConnected) show(element, clock);
    else running.delete(element);
  }
}, TICK_MS);
