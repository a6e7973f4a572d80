// Makes every picture, the film, the sound and the printed page of the newspaper from ./sources.
// Needs Chromium (CHROMIUM, or /usr/bin/chromium) and ffmpeg. Run: node examples/newspaper/make-assets.mjs

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import * as scenes from './sources/scenes.mjs';
import * as views from './sources/views.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const site = (path) => {
  const full = join(here, 'site', path);
  mkdirSync(dirname(full), { recursive: true });
  return full;
};
const FRAMES_PER_SECOND = 24;
const SECONDS = 6;

const drawings = {
  'favicon.svg': scenes.favicon(),
  'front/masthead.svg': scenes.masthead(),
  'letters/stamp.svg': scenes.stamps(),
  '2026/11/16/pictures/harbour-clock.svg': scenes.harbourClock(),
  '2026/11/17/pictures/café-parallax.svg': scenes.cafe(),
  '2026/11/18/gallery/views/1-dawn.svg': views.dawn(),
  '2026/11/18/gallery/views/2-noon.svg': views.noon(),
  '2026/11/18/gallery/views/5-night.svg': views.night(),
  '2026/11/18/gallery/views/6-power-cut.svg': views.powerCut(),
};
const sevenViews = Object.values([views.dawn, views.noon, views.storm, views.fog, views.night, views.powerCut, views.cow]).map((view) => view());
const prints = [
  ['front/harbour-at-dawn.jpg', 1600, 900, [scenes.harbourAtDawn()]],
  ['front/harbour-at-dawn-800.jpg', 800, 450, [scenes.harbourAtDawn()]],
  ['front/seven-views.jpg', 1540, 220, sevenViews],
  ['2026/11/16/pictures/fog.jpg', 1200, 800, [scenes.fog()]],
  ['2026/11/17/pictures/high-water.jpg', 1280, 720, [scenes.highWater(0.5)]],
  ['2026/11/18/pictures/the-other-one.png', 1200, 800, [scenes.newFerry()]],
  ['2026/11/18/gallery/views/3-storm.png', 900, 900, [views.storm()]],
  ['2026/11/18/gallery/views/4-fog.jpg', 900, 900, [views.fog()]],
  ['2026/11/18/gallery/views/7-cow.png', 900, 900, [views.cow()]],
];

async function print(page, path, width, height, svgs) {
  await page.setViewportSize({ width, height });
  await page.setContent(`<style>body{margin:0;display:flex}svg{flex:1;min-width:0;display:block;height:${height}px}</style>${svgs.join('')}`);
  const jpeg = path.endsWith('.jpg') ? { type: 'jpeg', quality: 84 } : { type: 'png' };
  await page.screenshot({ path, ...jpeg });
}

async function film(page, frames) {
  for (let i = 0; i < FRAMES_PER_SECOND * SECONDS; i++) {
    const number = String(i).padStart(4, '0');
    await print(page, join(frames, `${number}.png`), 640, 360, [scenes.highWater(i / (FRAMES_PER_SECOND * SECONDS))]);
  }
  ffmpeg('-framerate', String(FRAMES_PER_SECOND), '-i', join(frames, '%04d.png'), '-c:v', 'libvpx-vp9', '-crf', '34', '-b:v', '0', '-pix_fmt', 'yuv420p', site('2026/11/17/film/high-water.webm'));
}

function foghorn() {
  const note = '(sin(2*PI*98*t)+0.6*sin(2*PI*147*t+0.2*sin(2*PI*5*t))+0.35*sin(2*PI*196*t))*0.3*min(1\\,t*4)*min(1\\,max(0\\,(3-t)*1.6))';
  ffmpeg('-f', 'lavfi', '-i', `aevalsrc=${note}:s=48000:d=3.2`, '-af', 'aecho=0.7:0.6:180|340:0.35|0.2', '-c:a', 'libmp3lame', '-b:a', '64k', site('2026/11/16/sound/foghorn.mp3'));
}

const ffmpeg = (...args) => execFileSync('ffmpeg', ['-v', 'error', '-y', ...args.slice(0, -1), '-map_metadata', '-1', '-fflags', '+bitexact', args.at(-1)], { stdio: 'inherit' });

const frames = mkdtempSync(join(tmpdir(), 'newspaper-'));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
try {
  for (const [path, text] of Object.entries(drawings)) writeFileSync(site(path), text);
  const page = await browser.newPage();
  for (const [path, width, height, svgs] of prints) await print(page, site(path), width, height, svgs);
  await film(page, frames);
  foghorn();
  await page.goto(`file://${join(here, 'sources', 'winter-timetable.html')}`);
  await page.pdf({ path: site('2026/11/18/supplement/winter-timetable.pdf'), preferCSSPageSize: true, printBackground: true });
} finally {
  await browser.close();
  rmSync(frames, { recursive: true, force: true });
}
