// unprinted returns which parts of a page that is laid out for print are hidden or cut.
(() => {
  const wrong = [];
  const all = selector => [...document.querySelectorAll(selector)];
  const name = e => `${e.localName}${e.id ? "#" + e.id : ""} “${e.textContent.trim().slice(0, 40)}”`;
  const screenOnly = e => e.closest("nav, .skip, .tools, .known, script, style, .defs");
  const width = document.documentElement.clientWidth;
  for (const e of all("main, main *")) {
    if (screenOnly(e) || e.closest("defs")) continue;
    const box = e.getBoundingClientRect();
    if (!e.checkVisibility({contentVisibilityAuto: true, visibilityProperty: true})) {
      if (e.localName !== "col" && e.textContent.trim()) wrong.push(`${name(e)} is hidden`);
      continue;
    }
    if (box.right > width + 1 || box.left < -1) wrong.push(`${name(e)} is cut at the right or left of the paper`);
    if (e.textContent.trim() && !e.closest("svg") && box.height === 0) wrong.push(`${name(e)} has no height`);
    for (let outer = e.parentElement; outer; outer = outer.parentElement) {
      const s = getComputedStyle(outer), bounds = outer.getBoundingClientRect();
      if (outer.localName === "svg" || e.closest("svg") && e.localName !== "svg") break;
      if (s.overflowY !== "visible" && box.bottom > bounds.bottom + 1 || s.overflowX !== "visible" && box.right > bounds.right + 1)
        wrong.push(`${name(e)} is cut by ${outer.id ? "#" + outer.id : outer.className}`);
    }
  }
  return [...new Set(wrong)].slice(0, 20);
})()
