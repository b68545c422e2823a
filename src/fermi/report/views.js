// Views of charts: drawn once, then given new rows.

const tip = byId("tip");

// Text only: what a chart says of a mark comes from the data.
function showTip(_handler, event, _item, words) {
  tip.style.visibility = words ? "visible" : "hidden";
  if (!words) return;
  const [first, ...rest] = String(words).split("\n");
  tip.replaceChildren(make("strong", {}, first), ...rest.map((line) => make("div", {}, line)));
  const { width, height } = tip.getBoundingClientRect();
  const below = event.clientY + 18;
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
  tip.style.top = `${below + height > innerHeight ? event.clientY - height - 12 : below}px`;
}

const charts = new Map(); // element -> its view, the spec of that, and what it shall show next

// Show rows in an element. What is asked for while a drawing is under way waits, and only the last of it is drawn.
async function draw(element, spec, rows, description, onClick) {
  const chart = charts.get(element) ?? {};
  charts.set(element, chart);
  chart.next = { spec, rows, description, onClick };
  if (chart.busy) return;
  chart.busy = true;
  while (chart.next) {
    const next = chart.next;
    chart.next = null;
    await drawn(chart, element, next).catch(console.error);
  }
  chart.busy = false;
}

// New rows for the view that is there, or a new view where the spec is another.
async function drawn(chart, element, { spec, rows, description, onClick }) {
  const key = JSON.stringify(spec);
  if (chart.key === key) {
    await chart.view.data("rows", rows).description(description).runAsync();
    return;
  }
  chart.view?.finalize();
  const full = { $schema: "https://vega.github.io/schema/vega-lite/v6.json", ...spec, description, datasets: { rows } };
  // Its interpreter spares the page the permission to make code from text.
  const options = { renderer: "svg", actions: false, ast: true, tooltip: showTip, defaultStyle: false };
  const { view } = await window.vegaEmbed(element, full, options);
  Object.assign(chart, { key, view });
  if (!onClick) return;
  view.addEventListener("click", (_event, item) => {
    if (isNumber(item?.datum?.index)) onClick(item.datum.index);
  });
}
