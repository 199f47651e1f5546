// Builds the page: src/ to ../assets/app.js and ../assets/app.css, which are committed.
//   npm ci && npm run check && npm run build        another folder: node build.mjs FOLDER
// The first line of each file has a hash of all sources, by which the tests see that they belong together.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2] ?? join(here, "..", "assets");

const hash = createHash("sha256");
const names = ["build.mjs", "package-lock.json", "package.json", "tsconfig.json", ...readdirSync(join(here, "src")).map((name) => `src/${name}`)];
for (const name of names.sort()) hash.update(`${name}\n`).update(readFileSync(join(here, name)));
const banner = `/* fsql: built from console/web/frontend, sources ${hash.digest("hex")} */`;

const built = await build({
  entryPoints: { app: join(here, "src", "main.tsx"), "style": join(here, "src", "style.css") },
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022", "chrome110", "firefox110", "safari16"],
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
  banner: { js: banner, css: banner },
  outdir: target,
  write: false,
  absWorkingDir: here,
});
for (const file of built.outputFiles) {
  writeFileSync(join(target, file.path.endsWith(".css") ? "app.css" : "app.js"), file.contents);
}
