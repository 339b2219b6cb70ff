// Finds what a page makes hard to read or to press. tests/web/test_access.py runs it in Chromium.
(() => {
  const shown = element => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const name = element => `${element.tagName.toLowerCase()}.${element.className} "${element.textContent.trim().slice(0, 30)}"`;
  const hiddenFromSight = element => {
    for (let each = element; each; each = each.parentElement) {
      const { clipPath, position } = getComputedStyle(each);
      if (clipPath === 'inset(50%)' && position === 'absolute') return true;
    }
    return false;
  };
  const pen = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const channels = colour => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map(each => each / 255)
    .map(each => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4))
    .reduce((sum, each, n) => sum + each * [0.2126, 0.7152, 0.0722][n], 0);
  const contrast = (one, other) => {
    const [less, more] = [light(one), light(other)].sort((a, b) => a - b);
    return (more + 0.05) / (less + 0.05);
  };
  /** All colours that may lie behind an element: gradients have several. */
  function grounds(element) {
    const found = [];
    for (let each = element; each; each = each.parentElement) {
      const { backgroundColor, backgroundImage } = getComputedStyle(each);
      const stops = backgroundImage.match(/(?:rgba?|color|oklab|oklch)\([^()]*\)/g) ?? [];
      const opaque = stops.map(channels).filter(([, , , alpha]) => alpha > 250);
      found.push(...opaque);
      if (opaque.length && opaque.length === stops.length) return found;
      const flat = channels(backgroundColor);
      if (flat[3] > 250) return [...found, flat];
    }
    return found;
  }
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement, range = document.createRange();
    range.selectNodeContents(node);
    const { width, height } = range.getBoundingClientRect();
    if (node.data.trim() && width && height && shown(element) && !hiddenFromSight(element)) texts.push(element);
  }
  const small = texts.filter(each => parseFloat(getComputedStyle(each).fontSize) < 11).map(name);
  const pale = texts.flatMap(each => {
    const { color, fontSize, fontWeight } = getComputedStyle(each), size = parseFloat(fontSize);
    const least = size >= 24 || (size >= 18.6 && Number(fontWeight) >= 700) ? 3 : 4.5;
    const worst = Math.min(...grounds(each).map(ground => contrast(channels(color), ground)));
    return each.closest(':disabled') || worst >= least ? [] : [`${name(each)} ${worst.toFixed(2)}`];
  });
  const controls = [...document.querySelectorAll('a[href], button, input, select, textarea, summary')];
  const tight = controls.filter(each => shown(each) && !hiddenFromSight(each) && !each.matches('.skip')).filter(each => {
    const inText = getComputedStyle(each).display === 'inline'; // WCAG 2.2, 2.5.8: links in a sentence have its height
    const { width, height } = each.getBoundingClientRect();
    return !inText && (width < 43.9 || height < 43.9);
  }).map(each => `${name(each)} ${Object.values(each.getBoundingClientRect().toJSON()).slice(2, 4).map(Math.round)}`);
  const lines = (node, start, end) => {
    const range = document.createRange();
    range.setStart(node, start);
    range.setEnd(node, end);
    return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
  };
  const broken = [...document.querySelectorAll('h1, .where, button, summary, .after a')].filter(shown)
    .flatMap(each => [...each.childNodes]).filter(node => node.nodeType === Node.TEXT_NODE)
    .flatMap(node => [...node.data.matchAll(/[\p{L}\p{N}]+/gu)].filter(({ 0: word, index }) => lines(node, index, index + word.length) > 1)
      .map(([word]) => word));
  const sideways = document.documentElement.scrollWidth - innerWidth;
  return { small, pale, tight, broken, sideways: Math.max(0, sideways) };
})()
