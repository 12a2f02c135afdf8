// The chat page: one WebSocket per room, drawn with textContent only, so nothing that a person types is ever markup.
// The protocol is documented at the top of main.rs.

const $ = (id) => document.getElementById(id);
const LIMITS = { name: 32, text: 2000, room: 40, rooms: 12, unsent: 100, shown: 500 };
const BACKOFF = { first: 500, most: 30_000 }; // milliseconds
const ANSWER_WITHIN = 10_000; // a message not confirmed by then means that the connection is dead
const GROUP_WITHIN = 5 * 60_000; // messages of one person closer than this share a heading

/** An element with classes and text. */
function el(tag, className = "", text = "") {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text) node.textContent = text;
  return node;
}

/** A value kept as JSON in web storage; storage may be forbidden, the chat then just forgets. */
const kept = {
  get(area, key, otherwise) {
    try { return JSON.parse(window[area].getItem(`greenroom.${key}`)) ?? otherwise; } catch { return otherwise; }
  },
  set(area, key, value) {
    try { window[area].setItem(`greenroom.${key}`, JSON.stringify(value)); } catch { /* private mode, or full */ }
  },
};

const pick = (list) => list[Math.floor(Math.random() * list.length)];
const newId = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, "0")).join("");

// ---- Who and where ---------------------------------------------------------------------------------------------

/** A name chosen by hand is this browser's; one made up for a newcomer only this tab's, so that two tabs differ. */
function firstName() {
  const known = kept.get("localStorage", "name", "") || kept.get("sessionStorage", "name", "");
  if (known) return known;
  const made = `${pick(["Quiet", "Sunny", "Brisk", "Amber", "Merry", "Gentle", "Bright", "Witty"])} ${
    pick(["Otter", "Heron", "Fox", "Wren", "Badger", "Hare", "Robin", "Lynx"])}`;
  kept.set("sessionStorage", "name", made);
  return made;
}

function roomOf(address) {
  const asked = decodeURIComponent(address.hash.slice(1)) || address.searchParams.get("room") || "";
  return slug(asked) || "lobby";
}

/** Room names are lower-case letters, digits, '-' and '_': easy to read out, safe in an address. */
function slug(text) {
  return text.normalize("NFKD").toLowerCase().replace(/[^a-z0-9_\s-]/g, "").trim().replace(/\s+/g, "-").slice(0, LIMITS.room);
}

let name = firstName();
let room = "";
let me = 0; // this connection's member id
let members = [];

// ---- Connection ------------------------------------------------------------------------------------------------

let socket = null;
let attempt = 0;
let retryTimer = 0;
let ticker = 0;
let answerTimer = 0;
let live = false; // the history is through; what comes now is new
let known = null; // the member list before, for "joined" and "left"

function show(state, text) {
  $("connection").dataset.state = state;
  if ($("connection-text").textContent !== text) $("connection-text").textContent = text;
  $("retry").hidden = state !== "waiting";
  if (state !== "waiting") $("countdown").textContent = "";
}

function connect() {
  clearTimeout(retryTimer);
  clearInterval(ticker);
  disconnect();
  live = false;
  show("connecting", attempt === 0 ? "Connecting…" : "Reconnecting…");
  const url = new URL(`/rooms/${room}`, location.href);
  url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  url.searchParams.set("name", name);
  const mine = new WebSocket(url);
  socket = mine;
  mine.onmessage = (event) => { if (socket === mine) receive(JSON.parse(event.data)); };
  mine.onclose = () => { if (socket === mine) lost(); };
}

function disconnect() {
  const old = socket;
  socket = null;
  clearTimeout(answerTimer);
  answerTimer = 0;
  if (old) old.close(1000);
}

/** Exponential back-off with full jitter: a restarted server isn't met by everybody at once. */
function lost() {
  disconnect();
  live = false;
  const most = Math.min(BACKOFF.most, BACKOFF.first * 2 ** attempt);
  attempt += 1;
  const wait = Math.random() * most;
  const until = Date.now() + wait;
  show("waiting", "Connection lost");
  const tick = () => { $("countdown").textContent = `retrying in ${Math.max(1, Math.ceil((until - Date.now()) / 1000))} s`; };
  tick();
  ticker = setInterval(tick, 1000);
  retryTimer = setTimeout(connect, wait);
}

function transmit(message) {
  if (socket?.readyState !== WebSocket.OPEN) return false;
  socket.send(JSON.stringify(message));
  return true;
}

function receive(event) {
  switch (event.type) {
    case "welcome":
      me = event.member;
      break;
    case "said":
      said(event);
      break;
    case "members": {
      const inside = event.members.some((member) => member.id === me);
      peopleAre(event.members);
      if (!live && inside) ready();
      break;
    }
    case "refused":
      announce(event.reason);
      addNote(event.reason);
      break;
  }
}

/** Joined, and the history is drawn: from here on the log is read out, and what waited goes out. */
function ready() {
  live = true;
  attempt = 0;
  show("connected", "Connected");
  requestAnimationFrame(() => { $("log").setAttribute("aria-live", "polite"); });
  for (const entry of unsent) send(entry);
}

window.addEventListener("online", () => { if (!live && room) { attempt = 0; connect(); } });
$("retry").addEventListener("click", () => { connect(); $("text").focus(); });

// ---- Messages that wait to be sent -----------------------------------------------------------------------------

let unsent = [];

function keepUnsent() {
  kept.set("sessionStorage", `unsent.${room}`, unsent);
  $("unsent").textContent = live || unsent.length === 0 ? ""
    : unsent.length === 1 ? "1 message waits to be sent" : `${unsent.length} messages wait to be sent`;
}

function send(entry) {
  const left = live && transmit({ type: "say", id: entry.id, text: entry.text });
  stateOf(entry.id, left ? "Sending…" : "Waiting to be sent");
  if (left && !answerTimer) answerTimer = setTimeout(lost, ANSWER_WITHIN);
  keepUnsent();
}

function say(text) {
  if (unsent.length >= LIMITS.unsent) { announce("Too many messages wait already"); return false; }
  const entry = { id: newId(), text, at: Date.now() };
  unsent.push(entry);
  draw({ ...entry, name, mine: true, pending: true });
  send(entry);
  toBottom();
  return true;
}

// ---- The log ---------------------------------------------------------------------------------------------------

const drawn = new Map(); // message id -> its element
const timeOf = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const dayOf = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
let last = null; // what the newest message was, for grouping
let unread = 0;

function dayName(at) {
  const days = Math.round((new Date(Date.now()).setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / 86_400_000);
  return days === 0 ? "Today" : days === 1 ? "Yesterday" : dayOf.format(at);
}

/** A message came from the server. A repeat (history after a reconnect, a message sent twice) is drawn once. */
function said(event) {
  const waiting = unsent.findIndex((entry) => entry.id === event.id);
  if (waiting >= 0) {
    unsent.splice(waiting, 1);
    clearTimeout(answerTimer);
    answerTimer = unsent.length > 0 && live ? setTimeout(lost, ANSWER_WITHIN) : 0;
    ownIds.add(event.id);
    keepUnsent();
  }
  const before = drawn.get(event.id);
  if (before) {
    before.classList.remove("pending");
    stateOf(event.id, "");
    return;
  }
  const mine = ownIds.has(event.id) || (live && event.member === me);
  const atEnd = isAtBottom();
  draw({ ...event, mine, pending: false });
  if (!live || atEnd) toBottom(); else $("latest").hidden = false;
  if (live && document.hidden) { unread += 1; title(); }
}

/** Ids of this tab's own messages, so that they stay on its side of the log after a reconnect. */
const ownIds = new Set(kept.get("sessionStorage", "own", []));
window.addEventListener("pagehide", () => kept.set("sessionStorage", "own", [...ownIds].slice(-LIMITS.shown)));

function draw({ id, name: by, text, at, mine, pending }) {
  $("empty").hidden = true;
  const day = new Date(at).toDateString();
  if (last?.day !== day) {
    const line = el("li", "day", dayName(at));
    $("messages").append(line);
  }
  const follows = last?.day === day && last.by === by && last.mine === mine && at - last.at < GROUP_WITHIN;
  const item = el("li", "message");
  item.classList.toggle("mine", mine);
  item.classList.toggle("pending", pending);
  item.classList.toggle("follows", follows);
  item.classList.toggle("arrives", live || pending);
  const heading = el("div", "by");
  const time = el("time", "", timeOf.format(at));
  time.dateTime = new Date(at).toISOString();
  time.title = new Date(at).toLocaleString();
  heading.append(el("span", "who", mine ? "You" : by), time);
  const bubble = el("div", "bubble", text);
  bubble.title = time.title;
  item.append(face(by), heading, bubble);
  if (mine) { const state = el("div", "state"); item.append(state); }
  $("messages").append(item);
  drawn.set(id, item);
  last = { day, by, mine, at };
  trim();
}

function addNote(text) {
  const atEnd = isAtBottom();
  $("messages").append(el("li", "note", text));
  last = null;
  if (atEnd) toBottom();
}

/** The page keeps a bounded number of lines. */
function trim() {
  while ($("messages").childElementCount > LIMITS.shown) $("messages").firstElementChild.remove();
  while (drawn.size > LIMITS.shown) drawn.delete(drawn.keys().next().value);
}

function stateOf(id, text) {
  const state = drawn.get(id)?.querySelector(".state");
  if (state) state.textContent = text;
}

function isAtBottom() {
  const log = $("log");
  return log.scrollHeight - log.scrollTop - log.clientHeight < 80;
}

function toBottom() {
  $("log").scrollTop = $("log").scrollHeight;
  $("latest").hidden = true;
}

$("log").addEventListener("scroll", () => { if (isAtBottom()) $("latest").hidden = true; });
$("latest").addEventListener("click", () => { toBottom(); $("text").focus(); });

function face(of) {
  const letters = of.split(/\s+/).map((word) => [...word][0] ?? "").slice(0, 2).join("").toUpperCase();
  const node = el("span", "face", letters);
  let hue = 0;
  for (const character of of) hue = (hue * 31 + character.codePointAt(0)) % 360;
  node.style.setProperty("--hue", hue);
  node.setAttribute("aria-hidden", "true");
  return node;
}

// ---- People ----------------------------------------------------------------------------------------------------

function peopleAre(list) {
  members = list;
  $("count").textContent = $("badge").textContent = list.length;
  $("people").replaceChildren(...list.map((member) => {
    const item = el("li");
    item.append(face(member.name), el("span", "who", member.name));
    if (member.id === me) item.append(el("span", "self", "you"));
    return item;
  }));
  if (live && known) {
    const before = new Map(known.map((member) => [member.id, member.name]));
    const now = new Map(list.map((member) => [member.id, member.name]));
    for (const [id, who] of now) {
      if (!before.has(id)) addNote(`${who} joined`);
      else if (before.get(id) !== who && id !== me) addNote(`${before.get(id)} is now ${who}`);
    }
    for (const [id, who] of before) if (!now.has(id)) addNote(`${who} left`);
  }
  known = list;
}

// ---- Rooms -----------------------------------------------------------------------------------------------------

function enter(next) {
  room = next;
  attempt = 0;
  me = 0;
  known = null;
  last = null;
  unread = 0;
  drawn.clear();
  $("log").setAttribute("aria-live", "off");
  $("messages").replaceChildren();
  $("empty").hidden = false;
  $("latest").hidden = true;
  peopleAre([]);
  known = null;
  $("room-title").textContent = room;
  const recent = [room, ...kept.get("localStorage", "rooms", ["lobby"]).filter((other) => other !== room)];
  kept.set("localStorage", "rooms", recent.slice(0, LIMITS.rooms));
  drawRooms(recent.slice(0, LIMITS.rooms));
  unsent = kept.get("sessionStorage", `unsent.${room}`, []);
  for (const entry of unsent) draw({ ...entry, name, mine: true, pending: true });
  title();
  connect();
  keepUnsent();
}

function drawRooms(list) {
  $("rooms").replaceChildren(...[...list].sort().map((each) => {
    const link = el("a", "", each);
    link.href = `#${each}`;
    if (each === room) link.setAttribute("aria-current", "page");
    const item = el("li");
    item.append(link);
    return item;
  }));
}

function title() {
  document.title = `${unread ? `(${unread}) ` : ""}#${room} · Greenroom`;
}

document.addEventListener("visibilitychange", () => { if (!document.hidden) { unread = 0; title(); } });
window.addEventListener("hashchange", () => {
  const next = roomOf(new URL(location.href));
  if (location.hash === "#text" || next === room) return; // the skip link is no room
  enter(next);
  drawer(false);
  announce(`Room ${room}`);
  $("text").focus();
});
$("rooms").addEventListener("click", (event) => { if (event.target.closest("a")) drawer(false); });

// ---- Forms, theme, drawer --------------------------------------------------------------------------------------

const announce = (text) => { $("announce").textContent = ""; requestAnimationFrame(() => { $("announce").textContent = text; }); };

$("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = $("text").value.trim();
  if (text && say(text)) { $("text").value = ""; grow(); }
  $("text").focus();
});
$("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); $("composer").requestSubmit(); }
});
/** The box grows with its text, also where CSS can't do it (field-sizing). */
function grow() {
  if (CSS.supports("field-sizing", "content")) return;
  $("text").style.height = "auto";
  $("text").style.height = `${$("text").scrollHeight + 2}px`;
}
$("text").addEventListener("input", grow);

document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); $("text").focus(); });

$("room-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const next = slug($("room-input").value);
  const wrong = next ? "" : "A room is named with letters a to z and digits.";
  fieldError("room", wrong);
  if (wrong) return;
  $("room-input").value = "";
  location.hash = next;
});

$("name-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const asked = $("name-input").value.replace(/\s+/gu, " ").trim();
  const wrong = !asked ? "A name has at least one letter."
    : [...asked].length > LIMITS.name ? `A name has at most ${LIMITS.name} letters.`
    : /[\p{Cc}\p{Cf}]/u.test(asked) ? "A name has visible letters only." : "";
  fieldError("name", wrong);
  if (wrong) return;
  name = asked;
  $("name-input").value = name;
  kept.set("localStorage", "name", name);
  transmit({ type: "name", name }); // when offline, the next connection carries it
  announce(`You are now ${name}`);
  drawer(false);
  $("text").focus();
});

function fieldError(field, text) {
  $(`${field}-error`).textContent = text;
  if (text) $(`${field}-input`).setAttribute("aria-invalid", "true");
  else $(`${field}-input`).removeAttribute("aria-invalid");
}

const THEMES = ["system", "light", "dark"];
function theme(which) {
  if (which === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = which;
  $("theme-text").textContent = `Theme: ${which === "system" ? "as the system" : which}`;
  $("theme").title = $("theme-text").textContent;
  kept.set("localStorage", "theme", which);
}
$("theme").addEventListener("click", () => {
  const next = THEMES[(THEMES.indexOf(kept.get("localStorage", "theme", "system")) + 1) % THEMES.length];
  theme(next);
  announce($("theme-text").textContent);
});

function drawer(open) {
  const was = $("side").classList.contains("open");
  $("side").classList.toggle("open", open);
  $("scrim").classList.toggle("open", open);
  $("drawer-button").setAttribute("aria-expanded", String(open));
  document.querySelector(".stage").inert = open;
  if (open) $("rooms").querySelector("a")?.focus();
  else if (was) $("drawer-button").focus();
}
$("drawer-button").addEventListener("click", () => drawer(!$("side").classList.contains("open")));
$("scrim").addEventListener("click", () => drawer(false));
document.addEventListener("keydown", (event) => { if (event.key === "Escape") drawer(false); });
window.matchMedia("(min-width: 48rem)").addEventListener("change", () => drawer(false));

theme(THEMES.includes(kept.get("localStorage", "theme", "system")) ? kept.get("localStorage", "theme", "system") : "system");
$("name-input").value = name;
enter(roomOf(new URL(location.href)));
if (window.matchMedia("(min-width: 48rem)").matches) $("text").focus();
