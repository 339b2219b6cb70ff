// Runs a module of this folder with the JSON of the standard input: node run.mjs MODULE. Writes its value as JSON.
import { readFileSync } from 'node:fs';

const { run } = await import(`./${process.argv[2]}`);
let said;
try { said = { value: await run(JSON.parse(readFileSync(0, 'utf8'))) }; } catch (error) { said = { error: error.stack }; }
process.stdout.write(JSON.stringify(said));
