// The Saltmere Packet's only machine. It needs no network beyond this site, and the pages read well without it.
(() => {
  'use strict';
  const root = document.documentElement;

  // The theme is set before the first paint, so the page never flashes; a browser may forbid storage, then we forget.
  const store = (value) => {
    try {
      if (value !== undefined) localStorage.setItem('packet-theme', value);
      return localStorage.getItem('packet-theme');
    } catch {
      return null;
    }
  };
  const chosen = store();
  if (chosen === 'dark' || chosen === 'light') root.dataset.theme = chosen;

  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };

  function themeButton() {
    const nav = document.querySelector('nav ul');
    if (!nav) return;
    const isDark = () => (root.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
    const button = make('button', { type: 'button', id: 'theme' });
    const label = () => {
      button.textContent = isDark() ? 'Raise the blinds' : 'Draw the blinds';
    };
    button.addEventListener('click', () => {
      root.dataset.theme = isDark() ? 'light' : 'dark';
      store(root.dataset.theme);
      label();
    });
    label();
    nav.append(make('li', {}, button));
  }

  // A link with the whole address stays where the page was opened: on the reading site, on a mirror. (A Reader's gateway sees to it by itself.)
  function linksStayHere() {
    const canonical = document.querySelector('link[rel="canonical"]');
    if (!canonical) return;
    const home = new URL(canonical.href).origin;
    for (const link of document.links) {
      if (link.origin === home) link.href = link.pathname + link.search + link.hash;
    }
  }

  function readingTime() {
    const prose = document.querySelector('.prose');
    const place = document.querySelector('[data-reading-time]');
    if (!prose || !place) return;
    const minutes = Math.max(1, Math.round(prose.textContent.trim().split(/\s+/).length / 220));
    place.textContent = `${minutes} minute${minutes === 1 ? '' : 's'}, or one cup of tea`;
  }

  function pictureViewer() {
    const links = [...document.querySelectorAll('a[data-view]')];
    if (links.length === 0) return;
    let current = 0;
    const picture = make('img', { alt: '' });
    const caption = make('p', { 'aria-live': 'polite' });
    const button = (id, text, act) => {
      const element = make('button', { type: 'button', id }, text);
      element.addEventListener('click', act);
      return element;
    };
    const show = (index) => {
      current = (index + links.length) % links.length;
      const thumbnail = links[current].querySelector('img');
      picture.src = links[current].href;
      picture.alt = thumbnail.alt;
      caption.textContent = `${current + 1} of ${links.length}: ${thumbnail.alt}`;
    };
    const dialog = make('dialog', { id: 'viewer', 'aria-label': 'Picture viewer' }, picture, caption,
      make('div', {}, button('previous', 'Previous', () => show(current - 1)), button('next', 'Next', () => show(current + 1)), button('close', 'Close', () => dialog.close())));
    dialog.addEventListener('keydown', (event) => {
      if (event.key === 'ArrowLeft') show(current - 1);
      if (event.key === 'ArrowRight') show(current + 1);
    });
    document.body.append(dialog);
    links.forEach((link, index) => {
      link.addEventListener('click', (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        show(index);
        dialog.showModal();
      });
    });
  }

  function curve(rows) {
    const ns = 'http://www.w3.org/2000/svg';
    const draw = (tag, attributes, text = '') => {
      const element = document.createElementNS(ns, tag);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      element.textContent = text;
      return element;
    };
    const x = (hours) => 34 + (hours / 24) * 640;
    const y = (metres) => 250 - metres * 36;
    const svg = draw('svg', { viewBox: '0 0 690 284', role: 'img', 'aria-label': 'Height of the tide through the day, in metres' });
    for (const metres of [0, 2, 4, 6]) {
      svg.append(draw('path', { class: 'grid', d: `M34,${y(metres)}H674` }), draw('text', { x: 4, y: y(metres) + 5 }, `${metres} m`));
    }
    for (let hour = 0; hour <= 24; hour += 6) svg.append(draw('text', { x: x(hour), y: 276, 'text-anchor': 'middle' }, `${String(hour).padStart(2, '0')}:00`));
    const line = rows.map(([hours, metres], i) => `${i ? 'L' : 'M'}${x(hours).toFixed(1)},${y(metres).toFixed(1)}`).join('');
    svg.append(draw('path', { class: 'fill', d: `${line}V${y(0)}H34Z` }), draw('path', { class: 'curve', d: line }));
    return svg;
  }

  async function tideChart() {
    const figure = document.querySelector('[data-chart]');
    if (!figure) return;
    try {
      const answer = await fetch(figure.dataset.chart);
      if (!answer.ok) throw new Error(`answer ${answer.status}`);
      const [, ...lines] = (await answer.text()).trim().split('\n');
      const rows = lines.map((line) => line.split(',')).map(([time, metres]) => {
        const [hours, minutes] = time.split(':').map(Number);
        return [hours + minutes / 60, Number(metres)];
      });
      figure.prepend(curve(rows));
      figure.dataset.chartState = 'drawn';
    } catch {
      figure.dataset.chartState = 'missing'; // the caption links to the table, so the reader loses only the drawing
    }
  }

  document.addEventListener('DOMContentLoaded', async () => {
    themeButton();
    linksStayHere();
    readingTime();
    pictureViewer();
    await tideChart();
    root.dataset.reader = 'ready';
  });
})();
