"use strict";
// The table of groups or rules: filtered and sorted here, without a server. Labels go in as text, never as HTML.
const groups = JSON.parse(document.getElementById("data").textContent);
const body = document.querySelector("#groups tbody");
const said = document.getElementById("matching");
const fields = [...document.querySelectorAll(".filters input")];
const heads = [...document.querySelectorAll("#groups th[data-key]")];
const keys = heads.map((head) => head.dataset.key);
let order = { key: said.dataset.by, up: false };
const worth = (group, key) => group[key] ?? Infinity; // JSON has no infinity: null stands for it

function members(labels, n) {
  const more = n - labels.length;
  return labels.join(" · ") + (more > 0 ? ` · … ${more.toLocaleString("en")} more` : "");
}

function fits(group) {
  return fields.every((field) => {
    const [of, asked] = [field.dataset.of, field.value.trim().toLowerCase()];
    if (!asked || field.type === "number") return !asked || worth(group, of) >= +asked;
    return of.split(" ").some((side) => group[side].some((label) => label.toLowerCase().includes(asked)));
  });
}

function show() {
  const chosen = groups.filter(fits);
  chosen.sort((a, b) => (order.up ? 1 : -1) * (worth(a, order.key) - worth(b, order.key)) || b.n_edges - a.n_edges);
  body.replaceChildren(...chosen.map((group) => {
    const row = document.createElement("tr");
    for (const key of keys) {
      const cell = row.insertCell();
      cell.className = "n";
      const value = worth(group, key);
      cell.textContent = value.toLocaleString("en", Math.abs(value) < 1 ? { maximumSignificantDigits: 4 } : {});
    }
    row.insertCell().textContent = members(group.left, group.n_left);
    row.insertCell().textContent = members(group.right, group.n_right);
    return row;
  }));
  said.textContent = `${chosen.length.toLocaleString("en")} of ${groups.length.toLocaleString("en")} ${said.dataset.what}`;
  for (const head of heads) {
    const sorted = head.dataset.key === order.key;
    head.setAttribute("aria-sort", sorted ? (order.up ? "ascending" : "descending") : "none");
  }
}

for (const field of fields) field.addEventListener("input", show);
for (const head of heads) {
  head.querySelector("button").addEventListener("click", () => {
    const key = head.dataset.key;
    order = { key, up: order.key === key ? !order.up : false };
    show();
  });
}
show();
