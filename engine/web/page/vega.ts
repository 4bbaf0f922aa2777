// What draws: loaded with the first figures.
import "./canvas.js";
export { logger, parse, View } from "vega";
export { expressionInterpreter } from "vega-interpreter";
export { compile } from "vega-lite";
