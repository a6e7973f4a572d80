import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const { properties } = JSON.parse(readFileSync('publisher/wispr.schema.json', 'utf8'));
const [, section = ''] = /^## Every setting$([\s\S]*?)^## /m.exec(readFileSync('docs/publishing.md', 'utf8')) ?? [];
const documented = [...section.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell = '']) =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
);

it('docs/publishing.md has every setting of wispr.json, and no others', () => {
  expect(documented.length).toBeGreaterThan(20);
  expect(documented.sort()).toEqual(Object.keys(properties).sort());
});
