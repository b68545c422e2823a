// The picture: each group's rate before and after, and the order and choice of groups that all sections share.

const FULL = 12; // groups that a picture or a row of charts has room for

const SORTS = new Map([
  ["rate", ["rate, highest first", (a, b) => b.rate - a.rate]],
  ["change", ["change, largest first", (a, b) => Math.abs(b.rate - b.before) - Math.abs(a.rate - a.before)]],
  ["rows", ["rows, most first", (a, b) => b.rows - a.rows]],
  ["name", ["name", (a, b) => a.name.localeCompare(b.name, "en", { numeric: true })]],
]);

const rateFields = new Map([["true positive rate", "tpr"], ["false positive rate", "fpr"]]); // prettier-ignore

// A rate of a label. Of two classes only the last has true and false positive rates: the other's follow from those.
function rateOf(group, field, label, classes) {
  const own = new Map(group[field]).get(label);
  if (own || field === "rates" || classes.length !== 2) return own ?? null;
  const [other] = new Map(group[field === "tpr" ? "fpr" : "tpr"]).values();
  const [x, low, high, why] = other ?? [];
  const rest = (y) => (isNumber(y) ? 1 - y : null);
  return other ? [rest(x), rest(high), rest(low), why] : null;
}

// The rate that decides: which it is of a group, and what it is called.
function deciding(audit) {
  const found = behind(audit);
  const label = found?.label ?? audit.label ?? audit.classes.at(-1);
  const field = rateFields.get(found?.called) ?? "rates";
  const line = audit.classes.indexOf(found?.condition);
  // Of several classes, only the table of true and predicted ones has the rate within a true one.
  const fromTable = found?.called === "rate" && found.condition && line >= 0;
  const of = (group) => {
    if (!fromTable) return rateOf(group, field, label, audit.classes);
    const counts = group.confusion[line] ?? [];
    const total = counts.reduce((sum, n) => sum + n, 0);
    return total ? [counts[audit.classes.indexOf(label)] / total] : null;
  };
  const whom = found && (fromTable || field !== "rates") ? among(found).replace(/^of/, "Of").replace(/, $/, "") : "";
  // How many rows the rate is of: those of the condition, where the record has them.
  const rowsOf = (group) =>
    line >= 0 && group.confusion[line] ? group.confusion[line].reduce((sum, n) => sum + n, 0) : group.rows;
  const what = whom ? `${whom}: how many are given ${called(label)}` : `How many are given ${called(label)}`;
  return { of, rowsOf, what: what + (found ? kindOfRate(found) : "") };
}

const leastRows = (audit) => audit.judged?.least ?? FEW;

// Every group with its rate, before and after; those with too few rows to be judged are told apart.
function groupRows(audit, plain) {
  const { of, rowsOf } = deciding(audit);
  return audit.groups.map((group) => {
    const then = plain?.groups.find((other) => other.group === group.group);
    const [rate = null, low, high] = of(group) ?? [];
    const rows = rowsOf(group);
    const few = rows < leastRows(audit) || !isNumber(rate);
    const before = then ? value(of(then)) : null;
    return { group, name: groupName(group.group, audit), rows, rate, low, high, before, few };
  });
}

// Groups in the order chosen, those with few rows last, and only those that are looked for.
function arranged(audit, plain = null) {
  const looked = state.search.trim().toLowerCase();
  const compare = SORTS.get(state.sort)[1];
  return groupRows(audit, plain)
    .filter(({ name }) => name.toLowerCase().includes(looked))
    .toSorted((a, b) => a.few - b.few || compare(a, b) || 0);
}

const arrangedGroups = (audit) => arranged(audit).map(({ group }) => group);

// From a round number below the least to one above the most, with a line every so often.
function scaleOf(rows) {
  const judged = rows.filter(({ few }) => !few);
  // Every dot has its place; intervals of groups with few rows may be cut off, being as long as the picture.
  const ends = (judged.length ? judged : rows).flatMap(({ low, high }) => [low, high]);
  const all = [...rows.flatMap(({ rate, before }) => [rate, before]), ...ends];
  const [least, most] = domainOf(all, { zero: Math.min(...all.filter(isNumber)) < 0.4 });
  const step = most - least > 0.5 ? 0.2 : most - least > 0.2 ? 0.1 : most - least > 0.06 ? 0.05 : 0.01;
  const low = Math.max(0, Math.floor(least / step + 1e-9) * step);
  const high = Math.min(1, Math.ceil(most / step - 1e-9) * step);
  const lines = Array.from({ length: Math.round((high - low) / step) + 1 }, (_, i) => low + i * step);
  return { at: (x) => `${Math.min(100, Math.max(0, (100 * (x - low)) / (high - low)))}%`, lines };
}

function markAt(kind, left, width = null) {
  const made = make("i", { class: kind });
  made.style.left = left;
  if (width !== null) made.style.width = width;
  return made;
}

const spanOf = (scale, a, b) => [scale.at(Math.min(a, b)), `calc(${scale.at(Math.max(a, b))} - ${scale.at(Math.min(a, b))})`];

function lane({ rate, low, high, before }, scale) {
  const marks = scale.lines.map((tick) => markAt("tick", scale.at(tick)));
  if (isNumber(low) && isNumber(high)) marks.push(markAt("range", ...spanOf(scale, low, high)));
  if (isNumber(before) && isNumber(rate)) {
    marks.push(markAt(rate < before ? "move down" : "move up", ...spanOf(scale, before, rate)));
  }
  if (isNumber(before)) marks.push(markAt("then", scale.at(before)));
  if (isNumber(rate)) marks.push(markAt("now", scale.at(rate)));
  return make("span", { class: "lane", "aria-hidden": "true" }, ...marks);
}

function pictureLine(row, scale) {
  const { name, rows, rate, before, few } = row;
  const size = `${some(rows, "row")}${few ? ", too few to judge" : ""}`;
  const numbers = isNumber(before) ? `${percent(before)} → ${percent(rate)}` : percent(rate);
  return make(
    "li",
    { class: few ? "few" : null },
    make("span", { class: "who" }, name, make("span", { class: "size" }, size)),
    lane(row, scale),
    make("span", { class: "numbers" }, numbers),
  );
}

function axisLine(scale) {
  const named = scale.lines.map((tick) => {
    const made = make("span", {}, `${Math.round(100 * tick)}%`);
    made.style.left = scale.at(tick);
    return made;
  });
  return make("li", { class: "axis", "aria-hidden": "true" }, make("span", { class: "lane" }, ...named));
}

// The first and the last where there are too many, with a way to see those between.
function visible(rows) {
  if (state.all || rows.length <= FULL) return [rows, 0, []];
  const first = rows.slice(0, FULL / 2);
  const judged = rows.filter(({ few }) => !few);
  const last = judged.slice(FULL / 2).slice(-FULL / 2);
  return [first, rows.length - first.length - last.length, last];
}

function showPicture() {
  const { audit, plain } = head;
  if (hideSection("picture-section", !audit.groups.length)) return;
  const rows = arranged(audit, plain);
  const scale = scaleOf(groupRows(audit, plain));
  const [first, hidden, last] = visible(rows);
  const more = make("button", { type: "button" }, `Show all ${count(rows.length)}`);
  more.addEventListener("click", () => choose({ all: true }));
  const between = hidden ? [make("li", { class: "between" }, `… ${some(hidden, "group")} more. `, more)] : [];
  const line = (row) => pictureLine(row, scale);
  fill("picture-title", `${deciding(audit).what}, by ${audit.columns.filter(Boolean).join(" and ") || "group"}`);
  const key = [["now", plain ? "this model" : "these predictions"], ["range", `${confidenceOf(audit)} interval`]]; // prettier-ignore
  if (plain) key.unshift(["then", "the plain model"]);
  fill("picture-key", ...key.map(([kind, words]) => make("span", { class: kind }, words)));
  fill("picture", axisLine(scale), ...first.map(line), ...between, ...last.map(line));
  const few = groupRows(audit, plain).filter((row) => row.few).length;
  const least = `Groups with fewer than ${leastRows(audit)} rows are drawn faint, stand last, and enter neither the verdict’s figure nor the sentences above.`;
  fill("picture-words", few ? least : "");
  byId("picture-words").hidden = !few;
}

function showTools() {
  const total = head.audit.groups.length;
  const found = arranged(auditOf(models[state.model])).length;
  for (const tools of document.querySelectorAll(".tools")) {
    tools.hidden = total <= FULL;
    if (tools.querySelector(".find").value !== state.search) tools.querySelector(".find").value = state.search;
    tools.querySelector(".sort").value = state.sort;
    tools.querySelector(".found").textContent = `${count(found)} of ${some(total, "group")}`;
  }
}

function prepareTools() {
  for (const tools of document.querySelectorAll(".tools")) {
    const sorts = [...SORTS].filter(([name]) => name !== "change" || head.plain);
    tools.querySelector(".sort").replaceChildren(...sorts.map(([name, [words]]) => make("option", { value: name }, words)));
    tools.querySelector(".find").addEventListener("input", (event) => choose({ search: event.target.value }));
    tools.querySelector(".sort").addEventListener("change", (event) => choose({ sort: event.target.value }));
    tools.addEventListener("submit", (event) => event.preventDefault());
  }
}
