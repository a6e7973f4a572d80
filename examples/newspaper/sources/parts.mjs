// What the pictures are built from: water, sky, houses, boats, and the lighthouse, in one small set of inks.

export const INK = {
  night: '#111c2e',
  navy: '#1b2f4a',
  slate: '#36546d',
  sea: '#47808f',
  mist: '#a9c4c2',
  foam: '#e4ebe0',
  paper: '#f7efdd',
  sand: '#e6cd9c',
  amber: '#f3ab45',
  rose: '#e58f6d',
  brick: '#c4472f',
  wine: '#7f2a2b',
  moss: '#5f7f56',
};

/** A repeatable stream of numbers in [0, 1), so that a picture made twice is the same picture. */
export function dice(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

const n = (value) => Number(value.toFixed(1));

export function svg(width, height, title, body) {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img">\n<title>${title}</title>\n${body}\n</svg>\n`;
}
export const rect = (x, y, w, h, fill, more = '') =>
  `<rect x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}" fill="${fill}" ${more}/>`;
export const circle = (x, y, r, fill, more = '') => `<circle cx="${n(x)}" cy="${n(y)}" r="${n(r)}" fill="${fill}" ${more}/>`;
export const path = (d, fill, more = '') => `<path d="${d}" fill="${fill}" ${more}/>`;
export const stroke = (d, colour, width, more = '') =>
  `<path d="${d}" fill="none" stroke="${colour}" stroke-width="${width}" stroke-linecap="round" stroke-linejoin="round" ${more}/>`;
export const group = (x, y, scale, body, more = '') =>
  `<g transform="translate(${n(x)} ${n(y)}) scale(${n(scale * 100) / 100})" ${more}>${body}</g>`;

/** Horizontal bands of colour from y to bottom, like a sky printed from a few blocks. */
export function bands(width, y, bottom, colours) {
  const step = (bottom - y) / colours.length;
  return colours.map((colour, i) => rect(0, y + i * step, width, bottom - y - i * step, colour)).join('');
}

/** A band of water from its crest line at y down to bottom. */
export function waves(width, y, bottom, fill, { amplitude = 8, length = 120, phase = 0 } = {}) {
  const half = length / 2;
  let d = `M${n(-length + phase)},${n(y)}`;
  for (let x = -length + phase, up = true; x < width + length; x += half, up = !up) d += `q${n(half / 2)},${n(up ? -amplitude : amplitude)} ${n(half)},0`;
  return path(`${d}V${n(bottom)}H${n(-length * 2)}Z`, fill);
}

/** Short horizontal cuts, longer and bolder towards the bottom: light on water. */
export function glints(seed, count, [left, right], [top, bottom], colour, opacity = 0.7) {
  const next = dice(seed);
  let marks = '';
  for (let i = 0; i < count; i++) {
    const depth = next();
    const y = top + depth * (bottom - top);
    const length = 12 + next() * 60 * (0.35 + depth);
    const x = left + next() * (right - left - length);
    marks += `M${n(x)},${n(y)}h${n(length)}`;
  }
  return stroke(marks, colour, 3, `opacity="${opacity}"`);
}

export function stars(seed, count, width, height, colour = INK.paper) {
  const next = dice(seed);
  let marks = '';
  for (let i = 0; i < count; i++) marks += circle(next() * width, next() * height, 0.8 + next() * 2.2, colour);
  return marks;
}

export const gull = (x, y, size, colour = INK.navy) =>
  stroke(`M${n(x - size)},${n(y - size * 0.35)}q${n(size * 0.6)},${n(-size * 0.25)} ${n(size)},${n(size * 0.35)}q${n(size * 0.4)},${n(-size * 0.6)} ${n(size)},${n(-size * 0.35)}`, colour, Math.max(2, size / 8));

/** A waning moon, lit on its left. */
export const crescent = (x, y, r, colour = INK.paper) =>
  path(`M${n(x + r * 0.35)},${n(y - r)}A${r},${r} 0 1 0 ${n(x + r * 0.95)},${n(y + r * 0.5)}A${n(r * 0.86)},${n(r * 0.86)} 0 1 1 ${n(x + r * 0.35)},${n(y - r)}Z`, colour);

/** A cloud of stacked strips. */
export function cloud(x, y, scale, colour, opacity = 1) {
  const strip = (dx, dy, w) => `<rect x="${dx}" y="${dy}" width="${w}" height="18" rx="9"/>`;
  return group(x, y, scale, strip(40, 0, 110) + strip(0, 16, 230) + strip(60, 32, 240) + strip(20, 48, 120), `fill="${colour}" opacity="${opacity}"`);
}

/** The lighthouse; x is its middle, base its foot, height up to the top of the roof. */
export function lighthouse(x, base, height, { lamp = INK.amber, wall = INK.paper, stripe = INK.brick, roof = INK.navy } = {}) {
  const at = (t) => 46 - 20 * t; // half width of the tower at t of its height
  const level = (t) => -300 * t;
  const strip = (from, to, fill) => path(`M${-at(from)},${level(from)}L${-at(to)},${level(to)}H${at(to)}L${at(from)},${level(from)}Z`, fill);
  const tower =
    strip(0, 1, wall) + strip(0.14, 0.34, stripe) + strip(0.52, 0.72, stripe) + strip(0.88, 1, stripe) +
    path(`M${at(0)},0L${at(1)},-300H8L14,0Z`, INK.navy, 'opacity=".22"') +
    rect(-7, -136, 14, 24, roof, 'rx="7"') + rect(-6, -246, 12, 20, roof, 'rx="6"') + path('M-11,0V-30Q0,-44 11,-30V0Z', roof);
  const lantern =
    rect(-40, -312, 80, 12, roof) + stroke('M-38,-328H38M-38,-328V-312M-19,-328V-312M0,-328V-312M19,-328V-312M38,-328V-312', roof, 3.5) +
    rect(-20, -356, 40, 46, lamp) + stroke('M-20,-356V-312M0,-356V-312M20,-356V-312M-20,-334H20', roof, 3.5) +
    path('M-30,-354Q-22,-388 0,-394Q22,-388 30,-354Z', roof) + rect(-2, -410, 4, 20, roof) + circle(0, -410, 5, roof);
  return group(x, base, height / 415, tower + lantern);
}

/** A beam of light from (x, y): two angles in degrees, 0 pointing right. */
export function beam(x, y, from, to, length, colour = INK.amber, opacity = 0.35) {
  const end = (degrees) => `${n(x + length * Math.cos((degrees * Math.PI) / 180))},${n(y + length * Math.sin((degrees * Math.PI) / 180))}`;
  return path(`M${n(x)},${n(y)}L${end(from)}L${end(to)}Z`, colour, `opacity="${opacity}"`);
}

/** A gabled house on the quay; (x, base) is its lower left corner. */
export function house(x, base, w, h, wall, roof, window = INK.navy) {
  const pane = (px, py) => rect(px, py, w * 0.17, h * 0.16, window) + stroke(`M${n(px + w * 0.085)},${n(py)}v${n(h * 0.16)}`, wall, 2);
  let body = rect(x, base - h, w, h, wall) + path(`M${n(x - 6)},${n(base - h)}L${n(x + w / 2)},${n(base - h - w * 0.55)}L${n(x + w + 6)},${n(base - h)}Z`, roof);
  body += rect(x + w * 0.72, base - h - w * 0.5, w * 0.12, w * 0.34, roof) + circle(x + w / 2, base - h - w * 0.18, w * 0.075, window);
  for (const row of [0.14, 0.44]) for (const column of [0.14, 0.415, 0.69]) body += pane(x + w * column, base - h + h * row);
  return body + rect(x + w * 0.4, base - h * 0.28, w * 0.2, h * 0.28, roof) + rect(x + w * 0.14, base - h * 0.26, w * 0.16, h * 0.14, window) + rect(x + w * 0.7, base - h * 0.26, w * 0.16, h * 0.14, window);
}

/** The sailing packet of the nameplate; (x, y) is the water line under her middle. */
export function packet(x, y, scale, { hull = INK.wine, sail = INK.paper, line = INK.navy } = {}) {
  const rig = stroke('M-34,-30V-190M44,-30V-172M92,-34L-34,-186M-104,-38L-34,-186', line, 4);
  const sails =
    path('M-28,-178Q18,-150 30,-52Q0,-44 -28,-48Z', sail) + path('M50,-160Q88,-128 96,-56Q74,-48 50,-50Z', sail) +
    path('M-40,-172Q-54,-110 -40,-48Q-66,-42 -96,-42Q-60,-100 -40,-172Z', sail);
  const flag = path('M-34,-204l34,8l-34,10Z', INK.brick);
  const body = path('M-118,-34Q0,-20 122,-38Q112,-2 88,8H-82Q-104,-8 -118,-34Z', hull) + stroke('M-110,-24Q0,-10 116,-28', INK.sand, 4);
  return group(x, y, scale, rig + sails + flag + body);
}

/** The ferry: broad, patient, one funnel; (x, y) is the water line under her middle. */
export function ferry(x, y, scale, { hull = INK.navy, house: cabin = INK.paper, funnel = INK.brick, lit = INK.amber } = {}) {
  const ports = Array.from({ length: 9 }, (_, i) => circle(-150 + i * 38, -36, 8, lit)).join('');
  const panes = Array.from({ length: 8 }, (_, i) => rect(-112 + i * 30, -100, 20, 18, lit, 'rx="3"')).join('');
  const body =
    rect(-40, -196, 52, 80, funnel) + rect(-40, -180, 52, 14, cabin) + stroke('M100,-118V-214M100,-200L40,-160M100,-200L160,-70', hull, 3.5) +
    rect(30, -158, 66, 42, cabin) + rect(38, -150, 50, 12, lit) + rect(-130, -112, 260, 44, cabin) + rect(-140, -118, 280, 8, hull) +
    rect(24, -164, 80, 7, hull) + panes + path('M-214,-74H222Q206,-14 178,8H-178Q-204,-20 -214,-74Z', hull) +
    path('M-206,-56H217L213,-46H-203Z', cabin) + ports;
  return group(x, y, scale, body);
}
