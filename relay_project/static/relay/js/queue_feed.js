// The pictures: over the WebSocket, and by asking every few seconds as long as there is none.
const SILENCE_MS = 12_000; // the server speaks at least every 5 s: more than two missed is a dead line
const POLL_MS = 2_500;
const RETRY_MS = [500, 1_000, 2_000, 5_000, 10_000, 15_000];
const SIGNED_OUT = 4401;

/** Calls `onPicture(picture)` for each, `onLink("live" | "polling" | "away" | "signed_out")` as the way changes. */
export function watchQueue({ onPicture, onLink }) {
  let socket = null;
  let tries = 0;
  let heardAt = performance.now();
  let over = false;

  function open() {
    if (over) return;
    heardAt = performance.now();
    const address = new URL("/ws/queue", location.href);
    address.protocol = address.protocol.replace("http", "ws");
    const mine = (socket = new WebSocket(address, ["relay.queue"]));
    mine.addEventListener("message", (event) => hear(mine, JSON.parse(event.data)));
    mine.addEventListener("close", (event) => mine === socket && closed(event.code));
  }

  function hear(mine, frame) {
    if (mine !== socket) return;
    heardAt = performance.now();
    tries = 0;
    if (frame.confirm) mine.send(JSON.stringify({ type: "seen" }));
    if (frame.type !== "queue") return;
    onLink("live");
    onPicture(frame);
  }

  function closed(code) {
    socket = null;
    if (code === SIGNED_OUT) return signedOut();
    poll();
    const pause = RETRY_MS[Math.min(tries++, RETRY_MS.length - 1)];
    setTimeout(open, pause * (0.75 + Math.random() / 2)); // not all pages at once after a restart
  }

  async function poll() {
    if (over || socket?.readyState === WebSocket.OPEN) return;
    try {
      const answer = await fetch("/api/queue", { headers: { Accept: "application/json" } });
      if (answer.status === 401 || answer.status === 403) return signedOut();
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      const picture = await answer.json();
      if (socket?.readyState === WebSocket.OPEN) return;
      onLink("polling");
      onPicture(picture);
    } catch {
      onLink("away"); // unreachable: said on the page, and tried again
    }
  }

  function signedOut() {
    over = true;
    onLink("signed_out");
  }

  setInterval(() => {
    const silent = performance.now() - heardAt > SILENCE_MS;
    if (socket && silent) {
      const dead = socket;
      socket = null;
      dead.close();
      closed();
    } else if (socket?.readyState !== WebSocket.OPEN && !document.hidden) poll();
  }, POLL_MS);

  open();
}
