"use strict";
// The server sends the new content of elements, by their ids. Only what it has drawn and escaped itself is put in.
(() => {
  const events = new EventSource(document.currentScript.dataset.events);
  const show = e => {
    for (const [id, content] of Object.entries(JSON.parse(e.data))) {
      if (id === "title") document.title = content;
      const element = document.getElementById(id);
      if (!element || element.innerHTML === content) continue;
      if (id.startsWith("caption-")) element.textContent = content;
      else element.innerHTML = content;
    }
  };
  events.addEventListener("frame", show);
  events.addEventListener("end", e => {
    events.close();
    show(e);
  });
})();
