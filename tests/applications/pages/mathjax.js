import { load } from './script.js';

export default async (main) => {
  main.textContent = '\\(\\mathfrak{A} \\in \\mathcal{B}\\)';
  const paths = { 'mathjax-newcm': '/vendor/mathjax-newcm-font' };
  const options = { enableMenu: false, enableSpeech: false, enableBraille: false, enableExplorer: false };
  window.MathJax = { loader: { paths }, startup: { typeset: false }, options };
  await load('/vendor/mathjax/tex-svg.js');
  await window.MathJax.startup.promise;
  await window.MathJax.typesetPromise([main]);
  return [main.querySelectorAll('svg').length, main.querySelectorAll('svg path').length];
};
