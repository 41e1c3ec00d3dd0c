// audit returns what is wrong with the page for a reader with a screen reader, a keyboard or weak eyes.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const wrong = [];
  const name = e => (e.getAttribute("aria-label") ?? e.textContent).trim();
  const one = (selector, what) => {
    if (all(selector).length !== 1) wrong.push(`${all(selector).length} ${what}, want 1`);
  };
  one("main", "main landmarks"); one("body > header", "headers"); one("body > footer", "footers");
  one("h1", "h1"); one("title", "titles");
  if (all("h2").length > 3) one("nav", "navigations"); // else there is little to go to
  if (!document.documentElement.lang) wrong.push("no language");
  for (const e of all("nav, section")) if (!name(e)) wrong.push(`${e.localName} without a name`);
  for (const e of all("a, button, summary, [tabindex], svg[role], [role=region]"))
    if (e.id !== "main" && !name(e)) wrong.push(`${e.outerHTML.slice(0, 80)} has no name`);
  for (const e of all("th")) if (!["col", "row"].includes(e.scope)) wrong.push(`th ${name(e)} has no scope`);
  for (const e of all("table")) if (!e.caption?.textContent.trim()) wrong.push("a table has no caption");
  for (const e of all("svg:not([aria-hidden])"))
    if (!["img", "application"].includes(e.getAttribute("role"))) wrong.push(`svg ${e.id} has no role`);
  for (const e of all("[aria-describedby]"))
    if (!document.getElementById(e.getAttribute("aria-describedby"))) wrong.push(`#${e.id} is described by nothing`);
  for (const e of all("img:not([alt])")) wrong.push("an image has no alternative text");
  let level = 0;
  for (const e of all("h1, h2, h3, h4")) {
    const n = Number(e.localName[1]);
    if (n > level + 1) wrong.push(`${e.localName} ${name(e)} follows h${level}`);
    level = n;
  }

  // Contrast as WCAG 2 defines it.
  const parse = text => {
    const v = (text.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
    return text.startsWith("color(") ? [v[0] * 255, v[1] * 255, v[2] * 255, v[3] ?? 1] : [v[0], v[1], v[2], v[3] ?? 1];
  };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const luminance = c => {
    const [r, g, b] = c.map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const background = e => {
    const layers = [];
    for (; e; e = e.parentElement) layers.unshift(parse(getComputedStyle(e).backgroundColor));
    return layers.reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const judge = (e, color, below) => {
    const s = getComputedStyle(e), size = parseFloat(s.fontSize);
    const large = size >= 24 || size >= 18.66 && Number(s.fontWeight) >= 700;
    const ratio = contrast(over(color, below), below);
    if (ratio < (large ? 3 : 4.5)) wrong.push(`contrast ${ratio.toFixed(2)} of “${e.textContent.trim().slice(0, 40)}”`);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  while (texts.nextNode()) {
    const e = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || seen.has(e) || e.closest("svg, script") || !e.checkVisibility()) continue;
    seen.add(e);
    judge(e, parse(getComputedStyle(e).color), background(e));
  }
  for (const svg of all("svg.plot")) {
    if (!svg.checkVisibility()) continue;
    const page = background(svg);
    const areas = all("rect, path:not(.s)", svg).map(e => ({e, box: e.getBoundingClientRect(), s: getComputedStyle(e)}));
    for (const e of all("text", svg)) {
      const box = e.getBoundingClientRect(), x = (box.left + box.right) / 2, y = (box.top + box.bottom) / 2;
      let below = page;
      for (const a of areas) {
        const before = a.e.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING;
        if (before && a.e.localName === "rect" && a.box.left <= x && x <= a.box.right && a.box.top <= y && y <= a.box.bottom) {
          const fill = parse(a.s.fill);
          fill[3] *= Number(a.s.fillOpacity);
          below = over(fill, below);
        }
      }
      judge(e, parse(getComputedStyle(e).fill), below);
    }
  }
  return wrong;
})()
