// The pictures of the three issues. Each function returns a complete SVG document.

import { line } from './lettering.mjs';
import {
  bands, beam, circle, cloud, crescent, dice, ferry, glints, group, gull, house, INK, lighthouse, packet, path, rect, stars, stroke, svg, waves,
} from './parts.mjs';

const FRONTS = [INK.brick, INK.sand, INK.mist, INK.rose, INK.foam, INK.amber, INK.slate, INK.sand];

/** The row of houses along the quay, from x to the right edge. */
function quay(x, width, base, seed, lit = INK.navy) {
  const next = dice(seed);
  let row = '';
  for (let i = 0, at = x; at < width; i++) {
    const w = 84 + next() * 34;
    const h = 120 + next() * 70;
    row += house(at, base, w, h, FRONTS[i % FRONTS.length], i % 2 === 0 ? INK.navy : INK.wine, lit);
    at += w + 7;
  }
  return row + rect(x - 40, base, width - x + 40, 26, INK.slate) + rect(x - 40, base + 26, width - x + 40, 60, INK.navy);
}

export function masthead() {
  const the = line('THE', { x: 6, y: 6, height: 40 });
  const name = line('SALTMERE PACKET', { x: the.width + 26, y: 6, height: 100 });
  const rule = rect(6, 60, the.width, 2.5, '#111') + rect(6, 66, the.width, 6, '#111') + rect(6, 76, the.width, 2.5, '#111');
  const swell = stroke(`M6,94q${the.width / 12},-9 ${the.width / 6},0${`t${the.width / 6},0`.repeat(5)}`, '#111', 2.5);
  return svg(Math.ceil(the.width + 32 + name.width), 112, 'The Saltmere Packet', the.markup + rule + swell + name.markup);
}

export function favicon() {
  const body = rect(0, 0, 64, 64, INK.navy, 'rx="12"') + circle(44, 20, 9, INK.amber) + packet(31, 46, 0.2, { line: INK.paper, hull: INK.brick });
  return svg(64, 64, 'The Saltmere Packet', body + path('M0,46q8,-5 16,0t16,0t16,0t16,0V52Q64,64 52,64H12Q0,64 0,52Z', INK.sea));
}

export function harbourAtDawn() {
  const sky = bands(1600, 0, 560, ['#35576f', '#5d7f88', '#93a79c', '#cfbf98', '#ecc486', '#f2b36c', '#ee9a62']);
  const sun = circle(640, 540, 190, '#f6c377', 'opacity=".6"') + circle(640, 540, 130, '#fad893') + circle(640, 540, 84, '#fff1cf');
  const clouds = cloud(150, 90, 1.1, '#7d979b', 0.8) + cloud(820, 150, 1.3, '#e2c9a0', 0.8) + cloud(380, 250, 0.9, '#dcb98c', 0.8);
  const far = path('M0,560V500Q90,470 210,490T420,470Q520,480 600,560Z', '#6c7f85') + path('M620,560Q760,505 940,520T1300,500V560Z', '#7f8c88');
  const rocks = path('M0,640V520Q60,470 150,480Q240,488 300,560L380,640Z', INK.navy) + path('M0,640V560Q70,520 150,536Q230,552 290,640Z', INK.night);
  const sea = waves(1600, 556, 900, '#c98d68', { amplitude: 4, length: 90 }) + waves(1600, 586, 900, '#7d8f8d', { amplitude: 6, length: 130, phase: 30 }) +
    waves(1600, 640, 900, INK.sea, { amplitude: 9, length: 170 }) + waves(1600, 716, 900, INK.slate, { amplitude: 12, length: 220, phase: 60 }) +
    waves(1600, 800, 900, INK.navy, { amplitude: 14, length: 280 });
  const light = glints(7, 60, [500, 790], [566, 800], '#fff1cf', 0.85) + glints(21, 60, [60, 1500], [620, 890], INK.mist, 0.35);
  const birds = gull(760, 240, 30) + gull(840, 205, 22) + gull(700, 180, 18) + gull(480, 150, 20);
  return svg(1600, 900, 'The harbour of Saltmere at dawn',
    sky + sun + clouds + far + sea + rocks + lighthouse(150, 492, 330) + quay(1060, 1600, 640, 3, '#fbe3a8') + light +
      packet(640, 690, 1.15) + ferry(1190, 812, 0.95) + waves(1600, 838, 900, INK.night, { amplitude: 10, length: 200, phase: 20 }) + birds);
}

export function harbourClock() {
  const dial = (x, y, r) => {
    let marks = circle(x, y, r + 16, INK.navy) + circle(x, y, r + 8, INK.amber) + circle(x, y, r, INK.paper);
    for (let i = 0; i < 60; i++) {
      const a = (i * Math.PI) / 30;
      const inner = i % 5 === 0 ? 0.8 : 0.91;
      marks += stroke(`M${x + r * inner * Math.sin(a)},${y - r * inner * Math.cos(a)}L${x + r * 0.95 * Math.sin(a)},${y - r * 0.95 * Math.cos(a)}`.replace(/(\.\d)\d+/g, '$1'), INK.navy, i % 5 === 0 ? 7 : 2);
    }
    const hand = (degrees, length, width, colour) => `<g transform="translate(${x} ${y}) rotate(${degrees})">${path(`M${-width},18L0,${-length}L${width},18Z`, colour)}</g>`;
    return marks + hand(358, r * 0.56, 9, INK.navy) + hand(336, r * 0.84, 6, INK.navy) + circle(x, y, 11, INK.brick);
  };
  const sky = bands(1200, 0, 800, ['#24405c', '#2d4b66', '#3a5b72', '#4e7080', '#6b8a91', '#93a79f', '#c4bf9f', '#e6cd9c']);
  const tower = rect(410, 210, 380, 600, INK.brick) + rect(410, 210, 60, 600, INK.wine, 'opacity=".55"') + rect(386, 190, 428, 34, INK.paper) +
    path('M370,190L600,20L830,190Z', INK.navy) + path('M470,190L600,94L730,190Z', INK.slate) + rect(596, -30, 8, 60, INK.night) + circle(600, 128, 20, INK.amber);
  let bricks = '';
  for (let row = 0; row < 19; row++) for (let i = 0; i < 6 - (row % 2); i++) bricks += `M${416 + i * 64 + (row % 2) * 32},${246 + row * 30}h34`;
  const door = path('M540,800V690Q600,620 660,690V800Z', INK.night) + rect(386, 640, 428, 14, INK.paper);
  const birds =
    [[432, 640, 1], [486, 640, 1], [770, 640, -1]].map(([x, y, side]) => `<g transform="translate(${x} ${y}) scale(${side} 1)">${path('M-20,-6Q-16,-30 2,-30Q4,-42 14,-42Q22,-42 22,-34L30,-31L22,-28Q20,-8 4,-4Z', INK.night)}${stroke('M0,-6V0M6,-6V0', INK.amber, 2.5)}${circle(16, -35, 2, INK.paper)}</g>`).join('');
  const town = house(60, 800, 150, 200, INK.sand, INK.navy, '#fbe3a8') + house(226, 800, 130, 170, INK.mist, INK.wine, '#fbe3a8') +
    house(846, 800, 140, 190, INK.foam, INK.navy, '#fbe3a8') + house(1004, 800, 150, 230, INK.rose, INK.navy, '#fbe3a8');
  return svg(1200, 800, 'The harbour clock, four minutes slow',
    sky + crescent(1010, 150, 62) + stars(5, 40, 1200, 330) + cloud(60, 230, 1, '#6b8a91', 0.7) + cloud(880, 300, 0.9, '#93a79f', 0.7) +
      town + tower + stroke(bricks, INK.wine, 4, 'opacity=".45"') + door + dial(600, 400, 140) + birds);
}

export function fog() {
  const wash = (y, opacity) => `<rect x="-50" y="${y}" width="1300" height="120" rx="60" fill="#e9e6da" opacity="${opacity}" filter="url(#soft)"/>`;
  const blur = '<defs><filter id="soft" x="-10%" y="-60%" width="120%" height="220%"><feGaussianBlur stdDeviation="26"/></filter>' +
    '<filter id="hazy"><feGaussianBlur stdDeviation="3.2"/></filter><filter id="glow"><feGaussianBlur stdDeviation="22"/></filter></defs>';
  const grey = { hull: '#59646a', house: '#aab0ab', funnel: '#8b6d66', lit: '#f7dfa6' };
  const crates = [[470, 606, 70], [548, 612, 64], [500, 552, 56]].map(([x, y, s]) => rect(x, y, s, s * 0.86, '#4b555b') + stroke(`M${x + 6},${y + 6}l${s - 12},${s * 0.86 - 12}m0,${12 - s * 0.86}l${12 - s},${s * 0.86 - 12}`, '#798288', 4)).join('');
  return svg(1200, 800, 'Fog on the quay',
    blur + bands(1200, 0, 800, ['#c3c8c3', '#c9ccc5', '#cfd0c7', '#d4d3c9', '#d0cfc5', '#c4c5bd', '#b3b7b2']) +
      `<g filter="url(#hazy)" opacity=".5">${lighthouse(930, 500, 360, { lamp: '#f7dfa6', wall: '#c3c6c0', stripe: '#a39a94', roof: '#8b9494' })}</g>` +
      circle(930, 175, 60, '#fbe6b0', 'filter="url(#glow)"') + wash(300, 0.8) + wash(400, 0.7) +
      `<g filter="url(#hazy)" opacity=".8">${ferry(560, 560, 1.5, grey)}</g>` + circle(746, 240, 40, '#fbe6b0', 'filter="url(#glow)"') +
      wash(420, 0.55) + wash(520, 0.75) + rect(0, 664, 1200, 140, '#5b656a') + rect(0, 664, 1200, 8, '#737c80') + crates +
      [180, 360, 800, 1010].map((x) => path(`M${x - 20},664v-40q-12,-22 20,-24q32,2 20,24v40Z`, '#3d474e')).join('') +
      stroke('M180,622Q270,680 360,622M800,622Q905,690 1010,622', '#3d474e', 6) + wash(600, 0.35) + wash(120, 0.5));
}

export function cafe() {
  let awning = '';
  for (let i = 0; i < 12; i++) awning += path(`M${150 + i * 75},130H${225 + i * 75}V250q-37.5,46 -75,0Z`, i % 2 ? INK.paper : INK.brick);
  const cup = (x, y, s = 1) => group(x, y, s, path('M-44,-60H44Q42,-14 18,0H-18Q-42,-14 -44,-60Z', INK.paper) + stroke('M42,-50q34,2 20,26q-8,12 -28,10', INK.paper, 9) + rect(-62, 0, 124, 9, INK.sand, 'rx="4"') + path('M-44,-60H44L41,-46H-41Z', INK.wine) +
    stroke('M-14,-76q-14,-18 0,-36t0,-36M16,-76q-14,-18 0,-36t0,-36', INK.foam, 5, 'opacity=".75"'));
  const view = bands(700, 0, 330, ['#f2b36c', '#ecc486', '#dccb9f', '#a9c4c2']) + circle(520, 210, 60, '#fff1cf') + rect(0, 236, 700, 100, INK.sea) + glints(9, 26, [380, 660], [246, 320], '#fff1cf') + packet(180, 262, 0.62) + gull(330, 80, 22);
  const cat = path('M0,0Q-64,-4 -62,-62Q-60,-112 -22,-124L-26,-164L-4,-146H20L42,-164L38,-122Q52,-104 46,-84Q74,-50 62,0Z', INK.night) + stroke('M58,-8Q112,-6 108,-58', INK.night, 15) + circle(-4, -124, 4.5, INK.amber) + circle(24, -124, 4.5, INK.amber);
  const chair = (x, side) => `<g transform="translate(${x} 800) scale(${side} 1)">${stroke('M0,0L22,-120H120L136,0M22,-120L4,-270Q10,-304 40,-296', INK.night, 13)}${stroke('M8,-230H34M14,-190H30', INK.night, 9)}</g>`;
  return svg(1200, 800, 'The window seat of the Café Parallax',
    rect(0, 0, 1200, 800, '#2f5a60') + rect(0, 0, 1200, 96, INK.navy) + line('PARALLAX', { x: 388, y: 22, height: 54, fill: INK.amber, tracking: 16 }).markup + rect(0, 96, 1200, 34, INK.night) +
      rect(216, 236, 768, 394, INK.night) + group(250, 262, 1, `<svg width="700" height="336" viewBox="0 0 700 336">${view}</svg>`) + rect(594, 262, 12, 336, INK.night) + rect(250, 420, 700, 8, INK.night) +
      awning + path('M150,130H1050V150H150Z', INK.wine, 'opacity=".5"') + rect(180, 598, 840, 34, INK.sand) + rect(180, 626, 840, 8, INK.wine) +
      group(872, 598, 1, cat) + rect(420, 664, 360, 16, INK.night, 'rx="8"') + rect(590, 676, 20, 110, INK.night) + rect(520, 784, 160, 16, INK.night) + cup(500, 656, 0.95) + cup(690, 656, 0.95) +
      chair(330, 1) + chair(870, -1));
}

export function newFerry() {
  const rays = Array.from({ length: 24 }, (_, i) => beam(600, 560, -180 + i * 15 - 3.5, -180 + i * 15 + 3.5, 1100, '#f7d58d', 1)).join('');
  const top = line('THE OTHER ONE', { height: 84, fill: INK.navy, tracking: 8 });
  const bunting = Array.from({ length: 17 }, (_, i) => {
    const x = 20 + i * 70;
    const y = 40 + 50 * Math.sin((Math.PI * i) / 16);
    return path(`M${x},${y.toFixed(1)}h46l-23,52Z`, [INK.brick, INK.navy, INK.paper][i % 3]);
  }).join('');
  return svg(1200, 800, 'The new ferry, The Other One',
    rect(0, 0, 1200, 800, INK.amber) + rays + stroke('M0,34Q600,140 1200,34', INK.navy, 4) + bunting + group((1200 - top.width) / 2, 158, 1, top.markup) +
      ferry(600, 676, 1.9, { hull: INK.navy, funnel: INK.brick, lit: '#f7d58d' }) + waves(1200, 662, 800, INK.sea, { amplitude: 14, length: 190 }) +
      waves(1200, 706, 800, INK.slate, { amplitude: 14, length: 230, phase: 50 }) + waves(1200, 756, 800, INK.navy, { amplitude: 12, length: 260, phase: 10 }) + glints(17, 40, [20, 1180], [684, 790], INK.foam, 0.5));
}

/** One frame of the film. @param {number} t from 0 to 1, where 1 is 0 again */
export function highWater(t) {
  const swing = Math.sin(2 * Math.PI * t);
  const tide = 300 - 38 * (1 - Math.cos(2 * Math.PI * t));
  const bob = (phase) => 2.5 * Math.sin(2 * Math.PI * (3 * t + phase));
  const turn = 360 * t;
  const light = beam(112, 92, turn - 7, turn + 7, 700, '#fbe3a8', 0.3) + beam(112, 92, turn + 173, turn + 187, 700, '#fbe3a8', 0.3);
  const ladder = Array.from({ length: 9 }, (_, i) => `M452,${232 + i * 14}h18`).join('');
  const water = waves(640, tide, 360, INK.slate, { amplitude: 5, length: 106.7, phase: 106.7 * ((2 * t) % 1) }) + waves(640, tide + 16, 360, INK.navy, { amplitude: 6, length: 128, phase: -128 * t }) + waves(640, tide + 38, 360, INK.night, { amplitude: 7, length: 160, phase: 160 * t });
  return svg(640, 360, 'High water at Saltmere',
    bands(640, 0, 300, ['#16263d', '#1c304a', '#243d58', '#315068', '#466a7a', '#6a8a90']) + stars(11, 46, 640, 150) + crescent(540, 62, 24) + light +
      path('M0,360V236Q40,214 112,218Q190,222 226,360Z', INK.night) + lighthouse(112, 224, 150) +
      [0, 1, 2].map((i) => house(430 + i * 72, 226, 62, [74, 96, 84][i], [INK.rose, INK.sand, INK.mist][i], INK.wine, '#fbe3a8')).join('') +
      rect(418, 226, 240, 140, '#3b4d5c') + rect(418, 226, 240, 8, INK.sand) + stroke(`${ladder}M452,226V352M470,226V352`, INK.sand, 2.5) +
      group(300, tide + 6 + bob(0), 0.66, `<g transform="rotate(${(2 * Math.sin(2 * Math.PI * (3 * t + 0.2))).toFixed(2)})">${packet(0, 0, 1)}</g>`) + water + gull(384 + 40 * swing, 96 + bob(0.3) * 2, 12, INK.paper) + gull(424 + 34 * swing, 80 + bob(0.6) * 2, 8, INK.paper));
}

/** The stamps over the letters page. */
export function stamps() {
  const stamp = (x, tilt, inside) => {
    let teeth = '';
    for (let i = 0; i <= 12; i++) teeth += circle(i * 20, 0, 6, INK.foam) + circle(i * 20, 300, 6, INK.foam);
    for (let i = 1; i < 15; i++) teeth += circle(0, i * 20, 6, INK.foam) + circle(240, i * 20, 6, INK.foam);
    return `<g transform="translate(${x} 60) rotate(${tilt} 120 150)">${rect(0, 0, 240, 300, '#fffaf0')}${teeth}<svg x="20" y="20" width="200" height="260" viewBox="0 0 200 260">${inside}</svg></g>`;
  };
  const light = bands(200, 0, 260, ['#35576f', '#7d979b', '#ecc486', '#ee9a62']) + path('M0,260V220Q100,190 200,220V260Z', INK.navy) + lighthouse(100, 216, 180);
  const ship = rect(0, 0, 200, 260, INK.slate) + circle(140, 80, 34, INK.amber) + packet(98, 196, 0.72, { hull: INK.brick }) + waves(200, 192, 260, INK.sea, { amplitude: 5, length: 66 }) + waves(200, 216, 260, INK.navy, { amplitude: 5, length: 80, phase: 20 });
  const ear = (side) => path(`M${100 + side * 22},130Q${100 + side * 58},60 ${100 + side * 34},14Q${100 + side * 4},60 ${100 + side * 6},124Z`, '#6d6660') + path(`M${100 + side * 24},112Q${100 + side * 42},66 ${100 + side * 31},36Q${100 + side * 15},70 ${100 + side * 14},112Z`, INK.rose);
  const donkey = rect(0, 0, 200, 260, INK.sand) + ear(-1) + ear(1) + path('M52,260Q40,120 100,112Q160,120 148,260Z', '#7d766f') + path('M66,260Q60,206 100,202Q140,206 134,260Z', INK.foam) + path('M84,122Q100,84 116,122L108,150H92Z', INK.night) +
    circle(74, 168, 8, INK.night) + circle(126, 168, 8, INK.night) + circle(77, 165, 2.5, INK.paper) + circle(129, 165, 2.5, INK.paper) + circle(86, 234, 5, INK.night) + circle(114, 234, 5, INK.night);
  const mark = [0, 1, 2, 3].map((i) => `M745,${120 + i * 36}q32,-20 64,0t64,0t64,0t64,0t64,0t64,0`).join('');
  return svg(1200, 420, 'Three stamps of Saltmere', rect(0, 0, 1200, 420, INK.foam) + stamp(150, -3, light) + stamp(440, 2, ship) + stamp(735, -1.5, donkey) +
    stroke(mark, INK.night, 4, 'opacity=".6"') + `<circle cx="755" cy="190" r="82" fill="none" stroke="${INK.night}" stroke-width="5" opacity=".6"/><circle cx="755" cy="190" r="62" fill="none" stroke="${INK.night}" stroke-width="3" opacity=".6"/>`);
}
