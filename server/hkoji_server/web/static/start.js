// Every page loads this. It looks whether this browser has a key, and only then loads what players need.

const { page, static: base } = document.body.dataset;

document.documentElement.classList.add('scripted');
