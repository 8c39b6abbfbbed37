
"use strict";

// Tables: a click on a heading sorts, the next one turns the order around.
for (const table of document.querySelectorAll("table")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = heading.textContent;
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const numeric = heading.classList.contains("number");
      const down = heading.getAttribute("aria-sort") ? heading.getAttribute("aria-sort") === "ascending" : numeric;
      const key = (row) => numeric ? Number(row.cells[column].dataset.value) : row.cells[column].textContent;
      const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
      rows.sort(([one], [other]) => numeric ? one - other : one.localeCompare(other));
      if (down) rows.reverse();
      table.tBodies[0].append(...rows.map(([, row]) => row));
      for (const each of headings) each.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    });
  });
}

// The flame graph: a click on a frame makes it as wide as the graph; the frames above it stay as its way.
const flame = document.getElementById("flame");
if (flame) {
  const frames = [...flame.querySelectorAll(".frame")];
  const find = document.getElementById("find");
  const reset = document.getElementById("reset");
  const found = document.getElementById("found");
  const slack = 1e-6;
  const number = (frame, name) => Number(frame.dataset[name]);

  const percent = (part) => (part * 100).toFixed(4) + "%";

  const show = (left, width, depth) => {
    for (const frame of frames) {
      const start = number(frame, "left");
      const end = start + number(frame, "width");
      const above = number(frame, "depth") < depth;
      const inside = start >= left - slack && end <= left + width + slack;
      const around = start <= left + slack && end >= left + width - slack;
      frame.style.display = (above ? around : inside) ? "" : "none";
      frame.setAttribute("x", percent(above ? 0 : (start - left) / width));
      frame.setAttribute("width", percent(above ? 1 : (end - start) / width));
    }
    reset.hidden = width >= 1 - slack;
  };
  const enlarge = (frame) => show(number(frame, "left"), number(frame, "width"), number(frame, "depth"));
  for (const frame of frames) {
    frame.setAttribute("tabindex", "0");
    frame.setAttribute("role", "button");
    frame.addEventListener("click", () => enlarge(frame));
    frame.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        enlarge(frame);
      }
    });
  }
  reset.addEventListener("click", () => show(0, 1, 0));
  find.hidden = false;
  find.addEventListener("input", () => {
    const wanted = find.value.trim().toLowerCase();
    let count = 0;
    for (const frame of frames) {
      const hit = wanted !== "" && frame.querySelector("title").textContent.toLowerCase().includes(wanted);
      frame.classList.toggle("found", hit);
      count += hit;
    }
    found.textContent = wanted === "" ? "" : count + (count === 1 ? " frame" : " frames");
  });
}
