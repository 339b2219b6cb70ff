// Calls a JavaScript module's hanamikoji_action(history, cards, board) for every three lines of standard input.
// See referee_interface.py. Output of the module goes to standard error, so that standard output holds only moves.
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

console.log = console.info = console.debug = console.error;

const NAMES = ["hanamikoji_action", "HanamikojiAction", "hanamikojiAction", "default"];
const module = await import(pathToFileURL(resolve(process.argv[2])).href);
const name = NAMES.find((each) => typeof module[each] === "function");
if (name === undefined) {
  console.error(`${process.argv[2]} exports none of ${NAMES.join(", ")}`);
  process.exit(1);
}

let lines = [];
for await (const line of createInterface({ input: process.stdin })) {
  lines.push(line);
  if (lines.length === 3) {
    const [history, cards, board] = lines;
    lines = [];
    const move = await module[name](history, cards, Int8Array.from(board.split(" ").map(Number)));
    process.stdout.write(`${move}\n`);
  }
}
