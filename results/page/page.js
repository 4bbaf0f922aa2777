"use strict";
// Without it the page has everything but sorting, and its files stay packed.

const words = new Intl.Collator("en", { numeric: true });

function sortBy(table, at, descending) {
  const body = table.tBodies[0];
  const compare = (one, other) => {
    const [a, b] = [one.cells[at], other.cells[at]];
    if (!a.textContent || !b.textContent) return (a.textContent ? 0 : 1) - (b.textContent ? 0 : 1);
    const both = a.dataset.number !== undefined && b.dataset.number !== undefined;
    const order = both ? a.dataset.number - b.dataset.number : words.compare(a.textContent, b.textContent);
    return descending ? -order : order;
  };
  body.append(...[...body.rows].sort(compare));
}

for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    // The best first; a second click turns the order.
    const first = head.dataset.first ?? "ascending";
    const turned = first === "ascending" ? "descending" : "ascending";
    button.addEventListener("click", () => {
      const order = head.getAttribute("aria-sort") === first ? turned : first;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      sortBy(table, at, order === "descending");
    });
  });
}

async function unpack(link) {
  const packed = Uint8Array.from(atob(link.href.split(",")[1]), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const blob = new Blob([await new Response(stream).blob()], { type: link.dataset.kind });
  link.href = URL.createObjectURL(blob);
  link.download = link.dataset.name;
  link.classList.remove("packed");
}

for (const link of document.querySelectorAll("a.packed")) {
  link.addEventListener("click", (event) => {
    if (!link.classList.contains("packed") || !window.DecompressionStream) return;
    event.preventDefault();
    unpack(link).then(() => link.click());
  });
}
