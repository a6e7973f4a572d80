/** Numbers and lists that pages repeat are those of the programs. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { DEFAULT_PUBLICATION } from '../../keyserver/config/schema.ts';
import { SCRIPTS_WITH_DOCUMENTS } from '../../node-support/web-reader-files.ts';
import { SERVERLESS_FRESHNESS } from '../../publisher/init.ts';
import { freshness } from '../../publisher/workspace/configuration/content-schema.ts';

const read = (page: string) => readFileSync(page, 'utf8').replaceAll(/\s+/g, ' ');

it.each(['SECURITY.md', 'docs/threat-model.md'])('%s says how long a timestamp is valid', (page) => {
  const { hours } = freshness.parse({});
  expect(DEFAULT_PUBLICATION.freshHours).toBe(hours);
  expect(read(page)).toContain(
    `by default after ${hours} hours, after ${SERVERLESS_FRESHNESS.hours / 24} days without`,
  );
});

it('docs/serverless.md says how long a publication is shown', () => {
  const { hours, graceDays } = SERVERLESS_FRESHNESS;
  expect(read('docs/serverless.md')).toContain(`is fresh for ${hours / 24} days`);
  expect(read('docs/serverless.md')).toContain(`still shown it for ${graceDays} days`);
});

it('docs/keyserver.md names every script at the origin of the documents', () => {
  const [, listed = ''] = /Below `\/-\/` that origin has (.*?) and `leave`/.exec(read('docs/keyserver.md')) ?? [];
  for (const script of SCRIPTS_WITH_DOCUMENTS) expect(listed).toContain(`\`${script}.js\``);
});
