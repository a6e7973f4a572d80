// "Seven Views of One Lighthouse": the exhibition of 18 November. Square pictures, 900 by 900.

import { bands, beam, circle, cloud, dice, glints, gull, INK, lighthouse, packet, path, rect, stars, stroke, svg, waves } from './parts.mjs';

const rock = (fill) => path('M250,760Q300,640 400,622Q450,606 520,622Q620,640 670,760Z', fill);
const swell = (inks, y = 700) => rect(0, y - 6, 900, 206 + 700 - y, inks[0]) + inks.map((ink, i) => waves(900, y + i * 52, 900, ink, { amplitude: 9 + i * 3, length: 150 + i * 40, phase: i * 37 })).join('');

export function dawn() {
  return svg(900, 900, 'View 1: at dawn, from the ferry',
    bands(900, 0, 720, ['#587987', '#93a79c', '#cfbf98', '#efc98c', '#f2b36c', '#e58f6d']) + circle(680, 660, 150, '#fad893', 'opacity=".7"') + circle(680, 660, 96, '#fff1cf') +
      cloud(60, 150, 1, '#93a79c', 0.7) + cloud(500, 240, 1.1, '#e9cf9d', 0.8) + swell([INK.rose, INK.sea, INK.slate, INK.navy]) + rock(INK.navy) + lighthouse(460, 640, 480) +
      glints(4, 40, [560, 830], [715, 860], '#fff1cf', 0.8) + gull(220, 330, 26) + gull(280, 290, 18));
}

export function noon() {
  return svg(900, 900, 'View 2: at noon, from below',
    bands(900, 0, 900, ['#4f93a3', '#63a2ad', '#7cb1b6', '#98c1bf', '#b6d1c9', '#d3e1d5']) + circle(730, 150, 74, '#fff1cf') + cloud(60, 300, 1.3, INK.paper) + cloud(560, 430, 1, INK.paper, 0.9) +
      path('M0,900V800Q200,720 450,748Q700,776 900,700V900Z', INK.moss) + path('M0,900V846Q260,790 480,812T900,780V900Z', '#496544') + lighthouse(450, 790, 740) + gull(180, 200, 34) + gull(250, 160, 22));
}

export function storm() {
  const next = dice(31);
  let rain = '';
  for (let i = 0; i < 150; i++) rain += `M${(next() * 1000).toFixed(0)},${(next() * 780).toFixed(0)}l-16,52`;
  const breaker = path('M560,720Q640,480 760,470Q850,474 838,560Q800,520 760,560Q720,610 760,760Z', INK.foam) + path('M600,740Q668,560 752,540Q700,600 716,760Z', INK.mist);
  return svg(900, 900, 'View 3: in a storm, briefly',
    bands(900, 0, 720, ['#1b2733', '#25333f', '#32424c', '#43545b', '#57686b', '#6c7b7a']) + cloud(-60, 60, 2.2, '#1b2733', 0.9) + cloud(380, 110, 2.4, '#25333f', 0.9) + beam(425, 215, 158, 172, 900, '#fbe3a8', 0.5) +
      path('M640,150L570,330L626,322L560,520L700,290L640,300L700,150Z', '#fff1cf') + rock(INK.night) + lighthouse(425, 650, 500) + breaker + swell(['#57686b', '#3b5361', '#2a4153', INK.night], 710) + stroke(rain, INK.mist, 2.5, 'opacity=".45"'));
}

export function fog() {
  const bar = (x, y, w, opacity) => rect(x, y, w, 26, '#f4efe2', `rx="13" opacity="${opacity}"`);
  return svg(900, 900, 'View 4: in fog (the lighthouse is on the left)',
    bands(900, 0, 900, ['#d9d8ce', '#d4d4cb', '#cfd0c8', '#c8cbc4', '#c0c4be']) + `<g opacity=".16">${lighthouse(300, 690, 480)}</g>` + circle(300, 230, 70, '#fbe6b0', 'opacity=".35"') + circle(300, 230, 38, '#fbe6b0', 'opacity=".6"') +
      bar(60, 330, 460, 0.8) + bar(180, 372, 620, 0.7) + bar(-40, 450, 520, 0.85) + bar(240, 520, 500, 0.7) + bar(80, 590, 640, 0.9) + bar(380, 660, 560, 0.7) + bar(-20, 730, 640, 0.8));
}

export function night() {
  return svg(900, 900, 'View 5: on duty',
    bands(900, 0, 720, ['#0d1626', '#111c2e', '#162539', '#1b2f4a', '#24405c']) + stars(77, 120, 900, 600) + beam(460, 229, -14, -2, 900, '#fbe3a8', 0.55) + beam(460, 229, 172, 184, 900, '#fbe3a8', 0.3) +
      circle(460, 229, 62, '#fbe3a8', 'opacity=".3"') + swell(['#1b2f4a', '#16263d', '#111c2e', '#0b1320']) + rock('#0b1320') + lighthouse(460, 640, 480, { wall: '#b9c0bd', stripe: INK.wine, roof: '#0b1320', lamp: '#fff1cf' }) +
      glints(12, 50, [470, 880], [716, 880], '#fbe3a8', 0.5) + packet(760, 760, 0.5, { sail: '#b9c0bd', hull: '#0b1320', line: '#0b1320' }));
}

export function powerCut() {
  return svg(900, 900, 'View 6: during the power cut of 2019',
    rect(0, 0, 900, 900, '#090d14') + circle(460, 470, 130, '#f3ab45', 'opacity=".07"') + circle(460, 470, 74, '#f3ab45', 'opacity=".12"') + circle(460, 470, 36, '#f3ab45', 'opacity=".25"') +
      rect(452, 484, 16, 62, '#e9dcc0') + path('M460,438Q478,464 470,480H450Q442,464 460,438Z', '#fbe3a8') + stroke('M420,548H500', '#5b4a2c', 9));
}

export function cow() {
  const ear = (side) => path(`M${450 + side * 190},600Q${450 + side * 330},560 ${450 + side * 350},640Q${450 + side * 270},690 ${450 + side * 180},660Z`, '#5a3d33');
  const horn = (side) => path(`M${450 + side * 120},560Q${450 + side * 250},540 ${450 + side * 214},400Q${450 + side * 190},500 ${450 + side * 84},520Z`, INK.sand);
  return svg(900, 900, 'View 7: as seen by a cow',
    bands(900, 0, 560, ['#63a2ad', '#7cb1b6', '#98c1bf', '#b6d1c9']) + cloud(580, 110, 1, INK.paper) + cloud(40, 180, 1.1, INK.paper) + rect(0, 400, 900, 30, INK.sea) + path('M0,900V430Q220,392 460,420T900,400V900Z', INK.moss) + path('M0,900V560Q280,500 520,540T900,520V900Z', '#6f8f5f') +
      lighthouse(450, 424, 270) + ear(-1) + ear(1) + horn(-1) + horn(1) + path('M250,900Q240,560 450,540Q660,560 650,900Z', '#7a5344') + path('M380,900Q360,640 450,560Q540,640 520,900Z', INK.paper) +
      stroke('M120,900q10,-60 -14,-96M150,900q-4,-50 16,-80M770,900q6,-70 -12,-100M800,900q0,-50 18,-84', '#496544', 8) + circle(166, 812, 13, INK.paper) + circle(758, 792, 13, INK.amber));
}
