"use strict";
(() => {
  // The page can be read without this script. It opens what a link leads to, and makes the timelines explorable.
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const svgName = "http://www.w3.org/2000/svg";

  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let e = target; e; e = e.parentElement) if (e.localName === "details") e.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  let closed = [];
  addEventListener("beforeprint", () => { closed = all("details:not([open])"); for (const d of closed) d.open = true; });
  addEventListener("afterprint", () => { for (const d of closed) d.open = false; });

  const seconds = micros => (micros / 1e6).toFixed(6).replace(/0{1,3}$/, "") + " s";
  const hidden = new Set(); // clients that are not picked
  const timelines = new Map();

  class Timeline {
    constructor(svg) {
      this.svg = svg;
      const d = svg.dataset;
      [this.from, this.to, this.left, this.right, this.base] = [d.from, d.to, d.left, d.right, d.base].map(Number);
      [this.a, this.b] = [this.from, this.to];
      this.marks = all("[data-a]", svg).map(e => ({e, a: Number(e.dataset.a), b: Number(e.dataset.b ?? e.dataset.a)}));
      for (const m of this.marks) [m.x, m.width] = ["x", "width"].map(k => m.e.getAttribute(k));
      this.holds = this.marks.filter(m => m.e.dataset.hold !== undefined).sort((p, q) => p.a - q.a || p.b - q.b);
      this.tools();
      svg.setAttribute("tabindex", "0");
      svg.setAttribute("role", "application");
      svg.setAttribute("aria-describedby", this.known.id);
      svg.addEventListener("keydown", e => this.key(e));
      svg.addEventListener("pointerover", e => { if (e.target.dataset.hold !== undefined) this.tell(e.target); });
      svg.addEventListener("click", e => { if (e.target.dataset.hold !== undefined) this.tell(e.target); });
    }

    tools() {
      const box = document.createElement("div");
      box.className = "tools";
      box.setAttribute("role", "group");
      box.setAttribute("aria-label", "Explore the timeline: " + this.svg.getAttribute("aria-label"));
      const button = (text, name, act) => {
        const b = document.createElement("button");
        b.type = "button";
        b.textContent = text;
        if (name) b.setAttribute("aria-label", name);
        b.addEventListener("click", () => act(b));
        box.append(b);
        return b;
      };
      button("+", "Zoom in", () => this.scale(0.5));
      button("−", "Zoom out", () => this.scale(2));
      button("←", "Earlier", () => this.shift(-0.25));
      button("→", "Later", () => this.shift(0.25));
      button("Whole", "Show the whole timeline", () => this.zoom(this.from, this.to));
      for (const lane of all("[data-client]", this.svg)) {
        const client = lane.dataset.client;
        button(client, "Client " + client, () => {
          if (!hidden.delete(client)) hidden.add(client);
          for (const t of timelines.values()) t.pick();
        }).dataset.pick = client;
      }
      this.known = document.createElement("p");
      this.known.className = "known";
      this.known.id = this.svg.id + "-known";
      this.known.setAttribute("role", "status");
      this.known.textContent = this.holds.length ?
        "Point at a hold, or focus the timeline and use the arrow keys, to read what is known of it; + and − zoom, 0 shows all." :
        "Focus the timeline: arrow keys move it, + and − zoom, 0 shows all.";
      const scroll = this.svg.parentElement;
      scroll.before(box);
      scroll.after(this.known);
      this.box = box;
      this.pick();
    }

    pick() {
      for (const lane of all("[data-client]", this.svg)) lane.classList.toggle("dim", hidden.has(lane.dataset.client));
      for (const b of all("[data-pick]", this.box)) b.setAttribute("aria-pressed", !hidden.has(b.dataset.pick));
    }

    tell(e) {
      for (const old of all(".now", this.svg)) old.classList.remove("now");
      e.classList.add("now");
      this.current = this.holds.findIndex(m => m.e === e);
      const {a, b, hold} = e.dataset;
      const client = e.closest("[data-client]").dataset.client;
      const ms = Math.round(b - a) / 1e3;
      this.known.textContent = `${client} held from ${seconds(a)} to ${seconds(b)} (${ms} ms): ${hold}`;
    }

    key(e) {
      const step = {ArrowRight: 1, ArrowLeft: -1}[e.key];
      if (step && this.holds.length && !e.shiftKey) {
        const seen = i => this.holds[i] && !this.holds[i].e.classList.contains("off");
        let i = this.current ?? (step > 0 ? -1 : this.holds.length);
        do i += step; while (this.holds[i] && !seen(i));
        if (seen(i)) this.tell(this.holds[i].e);
      } else if (step) this.shift(step / 4);
      else if (e.key === "+" || e.key === "=") this.scale(0.5);
      else if (e.key === "-") this.scale(2);
      else if (e.key === "0" || e.key === "Escape") this.zoom(this.from, this.to);
      else if (e.key === "Enter" && this.current >= 0) {
        const {a, b} = this.holds[this.current];
        this.zoom(a - (b - a), b + (b - a));
      } else return;
      e.preventDefault();
    }

    scale(by) {
      const held = this.holds[this.current];
      const middle = held && held.a < this.b && held.b > this.a ? (held.a + held.b) / 2 : (this.a + this.b) / 2;
      const half = (this.b - this.a) / 2 * by;
      this.zoom(middle - half, middle + half);
    }

    shift(by) {
      const d = (this.b - this.a) * by;
      const inside = Math.min(Math.max(d, this.from - this.a), this.to - this.b);
      this.zoom(this.a + inside, this.b + inside);
    }

    // zoom shows the time from a to b, in microseconds of the run.
    zoom(a, b) {
      const least = Math.min(20, this.to - this.from);
      if (b - a < least) [a, b] = [(a + b - least) / 2, (a + b + least) / 2];
      this.a = Math.max(a, this.from);
      this.b = Math.min(b, this.to);
      const whole = this.a === this.from && this.b === this.to;
      const x = t => this.left + (t - this.a) / (this.b - this.a) * (this.right - this.left);
      const x0 = t => this.left + (t - this.from) / (this.to - this.from) * (this.right - this.left);
      for (const m of this.marks) {
        m.e.classList.toggle("off", m.b < this.a || m.a > this.b);
        if (m.width !== null && m.e.dataset.b !== undefined) {
          const l = Math.max(x(m.a), this.left), r = Math.min(x(m.b), this.right);
          m.e.setAttribute("x", whole ? m.x : l);
          m.e.setAttribute("width", whole ? m.width : Math.max(r - l, 1));
        } else if (whole) m.e.removeAttribute("transform");
        else m.e.setAttribute("transform", `translate(${x(m.a) - x0(m.a)} 0)`);
      }
      this.axis(whole, x);
      this.svg.dataset.zoom = whole ? "" : `${this.a} ${this.b}`;
    }

    axis(whole, x) {
      const ticks = this.svg.querySelector(".ticks");
      ticks.classList.toggle("off", !whole);
      this.svg.querySelector(".zoomed")?.remove();
      if (whole) return;
      const rough = (this.b - this.a) / 8, power = 10 ** Math.floor(Math.log10(rough));
      const step = Math.max([1, 2, 5, 10].map(m => m * power).find(s => s >= rough), 1);
      const places = Math.max(0, 6 - Math.floor(Math.log10(step)));
      const g = document.createElementNS(svgName, "g");
      g.setAttribute("class", "zoomed");
      for (let t = Math.ceil(this.a / step) * step; t <= this.b; t += step) {
        const line = document.createElementNS(svgName, "path");
        line.setAttribute("class", "s grey");
        line.setAttribute("d", `M${x(t)} ${this.base}v4`);
        const text = document.createElementNS(svgName, "text");
        text.setAttribute("class", "t10 ink");
        text.setAttribute("text-anchor", "middle");
        text.setAttribute("x", x(t));
        text.setAttribute("y", this.base + 15);
        text.textContent = (t / 1e6).toFixed(places);
        g.append(line, text);
      }
      ticks.after(g);
    }
  }

  for (const svg of all("svg[data-from]")) timelines.set(svg.id, new Timeline(svg));
  for (const link of all("a.zoom")) {
    link.addEventListener("click", () => {
      timelines.get(link.hash.slice(1))?.zoom(Number(link.dataset.a), Number(link.dataset.b));
      if (location.hash === link.hash) reveal();
    });
  }
  reveal();
})();
