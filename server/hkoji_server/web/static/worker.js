// Checks logs beside the page, so that it stays quick: a message {id, data, pins} is answered by {id, result}.
import { check } from './log/check.js';

onmessage = async ({ data: { id, data, pins } }) => postMessage({ id, result: await check(data, pins) });
