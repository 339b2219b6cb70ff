// Says the texts of WORDS in the reader's language: words.en.json, words.it.json. It has no words of its own.

/** @typedef {Object<string, string | string[]>} Words  a list has the form for 1 and that for all other numbers */
/** @typedef {(key: string, values?: Object<string, any>) => string} Say */

/** @param {Words} words @returns {Say} */
export const speaker = words => (key, values = {}) => {
  const found = words[key] ?? key, text = Array.isArray(found) ? found[Number(values.n) === 1 ? 0 : 1] : found;
  return text.replace(/\{(\w+)\}/g, (place, name) => String(values[name] ?? place));
};

/** Why something failed, in the reader's language. @param {Words} words @param {any} error */
export function explain(words, error) {
  const say = speaker(words), { key = 'unexpected', values = {} } = error?.text ? { key: error.text, ...error } : error;
  const why = values.why ? say(values.why.key, values.why.values) : undefined;
  if (!(key in words) && key.startsWith('problem-')) return say('problem-other', values);
  return say(key in words ? key : 'unexpected', { detail: error.message, ...values, why });
}
