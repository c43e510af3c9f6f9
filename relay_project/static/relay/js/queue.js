// The queue page: draws the picture that came with it, then every newer one.
import { put } from "./clocks.js";
import { armCancel } from "./queue_cancel.js";
import { slot } from "./drawing.js";
import { watchQueue } from "./queue_feed.js";
import { drawQueue } from "./queue_view.js";
import { say } from "./words.js";

const root = document.getElementById("queue");
let shownAt = "";
let told = new Map(); // own request → what has been said of it

function show(picture) {
  if (picture.at < shownAt) return; // a slow poll overtaken by the socket
  shownAt = picture.at;
  drawQueue(root, picture, performance.now());
  tellOwn(picture);
}

/** A screen reader hears its own requests' places and starts, not every tick. */
function tellOwn({ providers, tickets, leases }) {
  const names = new Map(providers.flatMap((p) => p.models.map((m) => [m.id, m.name])));
  const now = new Map();
  for (const { id, own, model, place } of tickets) {
    if (own) now.set(id, say("said", "you_wait", { model: names.get(model) ?? model, n: place }));
  }
  for (const { id, own, model } of leases) {
    if (own) now.set(id, say("said", "you_run", { model: names.get(model) ?? model }));
  }
  const news = [...now].filter(([id, text]) => told.get(id) !== text).map(([, text]) => text);
  told = now;
  if (news.length) announce(news.join(" "));
}

function announce(text) {
  put(slot(root, "said"), text);
}

function showLink(state) {
  const link = document.querySelector(".link");
  link.dataset.link = state;
  put(slot(link, "link"), say("said", state));
  if (state === "signed_out") location.assign(root.dataset.login);
}

show(JSON.parse(document.getElementById("queue-picture").textContent));
showLink("polling");
watchQueue({ onPicture: show, onLink: showLink });
armCancel(root, announce);
