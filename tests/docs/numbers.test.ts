/** Numbers and lists that pages repeat are those of the programs. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { DEFAULT_PUBLICATION } from '../../keyserver/config/schema.ts';
import { DEFAULT_LIMITS as LIMITS } from '../../keyserver/http/limits.ts';
import { SCRIPTS_WITH_DOCUMENTS } from '../../node-support/web-reader-files.ts';
import { SERVERLESS_FRESHNESS } from '../../publisher/init.ts';
import { freshness } from '../../publisher/workspace/configuration/content-schema.ts';

const read = (page: string) => readFileSync(page, 'utf8').replaceAll(/\s+/g, ' ');

it.each([
  ['for one name from one address | N |', [LIMITS.signInsPerNameAndAddress]],
  ['failed sign-ins in 15 minutes, from one address | N |', [LIMITS.signInsPerAddress]],
  ['failed sign-ins in 15 minutes, for one name from all addresses | N |', [LIMITS.signInsPerName]],
  ['failed sign-ins in 15 minutes, in one known browser | N |', [LIMITS.signInsPerKnownBrowser]],
  [
    'in one known browser | N, N, N, N |',
    [LIMITS.mailsPerNameAndAddress, LIMITS.mailsPerAddress, LIMITS.mailsPerName, LIMITS.mailsPerKnownBrowser],
  ],
  ['at the HTTPCrypt endpoint | N each |', [LIMITS.bindingsPerAddress]],
  ['for metadata, at the HTTPCrypt endpoint | N each |', [LIMITS.keyRequestsPerAddress]],
  ['a further one is refused | N |', [LIMITS.devicesPerSubscriber]],
  ['documents a minute from one address | N |', [LIMITS.documentsPerAddress]],
  ['further ones wait N seconds for their turn | N |', [LIMITS.documentWait / 1000, LIMITS.openDocumentsPerAddress]],
  [
    'publishing, from one address: refused requests in 15 minutes, all requests a minute | N, N |',
    [LIMITS.publishingRefusals, LIMITS.publishingPerAddress],
  ],
  [
    'Stripe, from one address: refused requests in 15 minutes, all requests a minute | N, N |',
    [LIMITS.publishingRefusals, LIMITS.subscriptionsPerAddress],
  ],
])('docs/keyserver.md has the limit "%s"', (row, numbers) => {
  const values = numbers.values();
  const said = row.replaceAll('N', () => values.next().value?.toLocaleString('en') ?? '');
  expect(read('docs/keyserver.md')).toContain(said);
});

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
