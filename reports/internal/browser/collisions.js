// collisions returns the texts of the pictures that run into each other in whatever font they are set.
(() => {
  const wrong = [];
  for (const svg of document.querySelectorAll("svg.plot")) {
    const texts = [...svg.querySelectorAll("text:not(.off)")].map(e => ({text: e.textContent, box: e.getBoundingClientRect()}));
    for (const [i, a] of texts.entries()) for (const b of texts.slice(i + 1)) {
      const x = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
      const y = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
      if (x > 2 && y > 0.5 * Math.min(a.box.height, b.box.height)) wrong.push(`${svg.id}: “${a.text}” and “${b.text}”`);
    }
  }
  return wrong;
})()
