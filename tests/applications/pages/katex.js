import katex from 'katex';

export default async (main) => {
  const style = document.createElement('link');
  Object.assign(style, { rel: 'stylesheet', href: '/vendor/katex/katex.min.css' });
  await new Promise((resolve) => {
    style.addEventListener('load', resolve);
    document.head.append(style);
  });
  katex.render('\\int_0^1 x^2\\,dx', main);
  await document.fonts.ready;
  const loaded = [...document.fonts].filter(({ status }) => status === 'loaded');
  return [main.querySelectorAll('.katex-html').length, loaded.map(({ family }) => family).sort()];
};
