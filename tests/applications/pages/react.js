import { createElement as h, useState } from 'react';
import { hydrateRoot } from 'react-dom/client';

const Counter = () => {
  const [count, setCount] = useState(0);
  return h('button', { onClick: () => setCount(count + 1) }, `${count} tides`);
};
const Page = () =>
  h('html', { lang: 'en' }, h('head', null, h('meta', { charSet: 'utf-8' }), h('title', null, 'react')),
    h('body', null, h(Counter), h('script', { type: 'module', src: '/react.js' })));

/** The whole document belongs to React, with whatever else stands in it. */
const problems = [];
hydrateRoot(document, h(Page), { onRecoverableError: ({ message }) => problems.push(message) });
await new Promise((resolve) => setTimeout(resolve, 500));
document.querySelector('button').click();
await new Promise((resolve) => setTimeout(resolve, 100));
window.result = [document.querySelector('button').textContent, problems];
