#!/usr/bin/env bash
# Bundle the editor of the page of SQL, with the licenses of everything that it contains.
set -euo pipefail
cd "$(dirname "$0")"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp editor.js package.json "$scratch"
[ ! -f package-lock.json ] || cp package-lock.json "$scratch"
cd "$scratch"
npm install --no-audit --no-fund --silent
npx esbuild editor.js --bundle --minify --format=iife --target=es2020 --metafile=meta.json --outfile=bundle.js --log-level=warning
node -e '
const fs = require("fs"), names = new Set();
for (const path of Object.keys(JSON.parse(fs.readFileSync("meta.json")).inputs)) {
  const found = path.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//);
  if (found) names.add(found[1]);
}
const parts = [...names].sort().map((name) => {
  const {version, license} = JSON.parse(fs.readFileSync(`node_modules/${name}/package.json`));
  return `${name} ${version} (${license})\n\n${fs.readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}\n`;
});
fs.writeFileSync("LICENSES.md", "# Licenses of the bundled editor\n`editor.js` contains these packages.\n\n```\n" + parts.join("\n---\n\n") + "```\n");
const lock = JSON.parse(fs.readFileSync("package-lock.json"));
for (const one of Object.values(lock.packages)) delete one.resolved;  // no address of a registry
fs.writeFileSync("package-lock.json", JSON.stringify(lock, null, 2) + "\n");
'
cd - >/dev/null
cp "$scratch/package-lock.json" "$scratch/LICENSES.md" .
{ echo "/* Made by \`make editor\` from editor/editor.js; editor/LICENSES.md has the licenses. */"; cat "$scratch/bundle.js"; } > ../templates/editor.js
