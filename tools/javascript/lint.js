// Lint the report's scripts as the browser sees them: joined into one module, where they share their names.
import { readdirSync, readFileSync } from "node:fs";
import js from "@eslint/js";
import { ESLint } from "eslint";

const FOLDER = new URL("../../src/fermi/report/", import.meta.url);
const read = (name) => readFileSync(new URL(name, FOLDER), "utf8");

// What the page uses of the browser. All that a browser has would do, if it did not have `name`, `event` and `status`,
// behind which a forgotten declaration hides.
const BROWSER = [
  ...["addEventListener", "Blob", "console", "dispatchEvent", "document", "Event", "getComputedStyle", "innerHeight"],
  ...["innerWidth", "setTimeout", "URL", "window"],
];

const RULES = {
  ...js.configs.recommended.rules,
  "block-scoped-var": "error",
  "consistent-return": "error",
  eqeqeq: "error",
  "no-eval": "error",
  "no-implied-eval": "error",
  "no-shadow": "error",
  "no-unused-vars": ["error", { args: "all", argsIgnorePattern: "^_" }],
  "no-use-before-define": ["error", { functions: false, variables: false }],
  "no-var": "error",
  "prefer-const": "error",
};

// The order of the page, from the file that makes it.
function scripts() {
  const [, names] = read("_page.py").match(/^_SCRIPTS = \(([^)]*)\)/m);
  const order = [...names.matchAll(/"([^"]+)"/g)].map((found) => found[1]);
  const forgotten = readdirSync(FOLDER).filter((name) => name.endsWith(".js") && !order.includes(name));
  if (forgotten.length) throw new Error(`not part of the page: ${forgotten.join(", ")}`);
  return order;
}

// Every line of the joined text, with the file and the number it has there.
const lines = scripts().flatMap((name) =>
  read(name)
    .split("\n")
    .map((text, i) => ({ text, place: `src/fermi/report/${name}:${i + 1}` })),
);

const globals = Object.fromEntries(BROWSER.map((name) => [name, "readonly"]));
const linter = new ESLint({
  overrideConfigFile: true,
  overrideConfig: {
    languageOptions: { ecmaVersion: 2023, sourceType: "module", globals },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: RULES,
  },
});
const [{ messages }] = await linter.lintText(lines.map(({ text }) => text).join("\n"));
for (const { line, column, message, ruleId } of messages) {
  console.error(`${lines[line - 1]?.place ?? "the page"}:${column} ${message} (${ruleId ?? "syntax"})`);
}
process.exitCode = messages.length ? 1 : 0;
