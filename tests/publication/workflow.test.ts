import { describe, expect, it } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { readerOf } from '../support/publication-source.ts';
import { TestPublication } from '../support/test-publication.ts';

const NOW = 1_790_000_000;
const SET = 'A'.repeat(43);

describe('a publication', () => {
  it('is written and read', async () => {
    const publication = await TestPublication.create(NOW);
    await publication.addEncrypted('/a/b.html', SET, utf8('head'));
    await publication.addPublic('/style.css', utf8('head of style'), utf8('a {}'));
    await publication.publish(NOW);
    const { site, source } = readerOf(publication);
    await site.refresh(NOW);
    expect(await site.document('/a/b.html', NOW)).toMatchObject({ set: SET, headLength: 4 });
    expect(await site.document('/none', NOW)).toBeUndefined();
    expect(source.requests.at(-1)).toMatch(/documents-[0-9a-f]+\.json$/);
  });
});
