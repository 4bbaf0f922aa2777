// Loads a module of the page in Node.
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** `plugins`: esbuild's. */
export async function load(name, plugins = []) {
  const entry = fileURLToPath(new URL(`../../engine/web/page/${name}.ts`, import.meta.url));
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, write: false, format: "esm", target: "es2022", plugins });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}
