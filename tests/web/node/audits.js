// Checks logs (base64) with the keys that are expected, one after the other as a page does.
import { check } from '../../../server/hkoji_server/web/static/log/check.js';

export async function run(rows) {
  const verdicts = [];
  for (const { log, pins } of rows) {
    const { found, holds, total } = await check(Uint8Array.from(atob(log), each => each.charCodeAt(0)), pins);
    verdicts.push({ found, holds, total });
  }
  return verdicts;
}
