import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { whyUnpublished } from '../../scripts/build-release.ts';

const MANIFEST = { repository: 'https://b.example', bugs: 'https://b.example/bugs' };
const FACTS = { ...MANIFEST, releases: 'https://a.example', security: 'a@b.example' };

describe('a release', () => {
  it('is published from a commit, and with every fact about it', () => {
    expect(whyUnpublished(FACTS, MANIFEST, '')).toBeUndefined();
    expect(whyUnpublished(FACTS, MANIFEST, ' M cli/main.ts\n')).toContain('M cli/main.ts');
    expect(whyUnpublished({ ...FACTS, security: '' }, MANIFEST, '')).toBe('release.json lacks security');
    expect(whyUnpublished(FACTS, {}, '')).toContain('package.json');
  });

  it('is not built without a key that signs it', () => {
    const build = () =>
      execFileSync(process.execPath, ['scripts/build-release.ts', '--unpublished'], { stdio: 'pipe' });
    expect(build).toThrow('build-release: --key FILE is missing');
  });
});
