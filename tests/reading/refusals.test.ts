/** Pages in place of a document, as the Reader, the reading site and the in-browser reader make them. */
import { describe, expect, it, vi } from 'vitest';
import { refusalOnly } from '../../client-proxy/pages/refusal.ts';
import type { CodedError } from '../../core/errors.ts';
import { OBJECT_ERRORS, ObjectError, type ObjectErrorCode } from '../../core/object/errors.ts';
import { PUBLICATION_ERRORS, PublicationError, type PublicationErrorCode } from '../../core/publication/errors.ts';
import { BUILT_IN_ACCENT } from '../../core/site/accent.ts';
import { KeyServerError } from '../../keyserver/errors.ts';
import { refusalPage as pageOfReadingSite } from '../../keyserver/reading-site/pages.ts';
import { refusalFor } from '../../keyserver/reading-site/refusals.ts';
import { READING_ERRORS, ReadingError, type ReadingErrorCode } from '../../reading/errors.ts';
import { MissingSoFar } from '../../reading/missing-so-far.ts';
import { refusalPage } from '../../reading/refusal-page.ts';
import { refusalFor as answerOfWorker } from '../../web-reader/worker/pages.ts';

const LOOK = { name: 'The <Paper>', accent: BUILT_IN_ACCENT, logo: '/logo.svg' };
const MASTHEAD = { ...LOOK, publisher: LOOK.name, site: 'news.example', signed: true, plans: [], titles: [] };
const LINKS = { account: 'https://read.example', signedIn: false, again: '/a.html' };

const errorsOf = <Code extends string>(codes: object, make: new (code: Code, message: string) => CodedError) =>
  Object.keys(codes).map((code) => new make(code as Code, 'what happened'));
const ERRORS = [
  ...errorsOf<ObjectErrorCode>(OBJECT_ERRORS, ObjectError),
  ...errorsOf<PublicationErrorCode>(PUBLICATION_ERRORS, PublicationError),
  ...errorsOf<ReadingErrorCode>(READING_ERRORS, ReadingError),
  ...(['lapsed', 'not-entitled', 'revoked'] as const).map((code) => new KeyServerError(code, 'what happened')),
  new MissingSoFar({ version: 3, confirmed: 1000, now: 8200 }, undefined),
].map((error) => [error.code, error] as const);

const said = (status: number | undefined, html: string) => [status, /<h1>.*?<\/h1><p>[^<]*/.exec(html)?.[0]];
const inWorker = (error: CodedError, isOnline = true) => {
  vi.stubGlobal('wisprSite', { reading: LINKS.account });
  vi.stubGlobal('navigator', { onLine: isOnline });
  const request = { mode: 'navigate' } as Request;
  return answerOfWorker(error, request, LINKS.again, LOOK);
};

describe('pages in place of documents', () => {
  it.each(ERRORS)('a refusal for %s has the same status and words at every door', async (_code, error) => {
    const reader = refusalOnly(error);
    const refusal = refusalFor(error);
    if (refusal === undefined) throw new Error('the reading site has no words for it');
    const words = said(reader.status, reader.html);
    expect(words[1]).toMatch(/^<h1>.+<\/h1><p>.+/);
    expect(said(refusal.status ?? 502, pageOfReadingSite(MASTHEAD, refusal, LINKS))).toEqual(words);
    const answer = inWorker(error);
    expect(said(answer.status, await answer.text())).toEqual(words);
  });

  it('names the code and what happened to the publisher, and escapes what others chose', () => {
    const page = { status: 404, title: '<t>', lead: '<l>', button: { text: 'Go', url: '/?"' }, facts: ['code', '<d>'] };
    const html = refusalPage(page, LOOK, '');
    expect(html).toContain('<code>code</code>');
    expect(html).toContain('alt="The &#60;Paper&#62;"');
    expect(html).toContain('href="/?&#34;"');
    expect(html).not.toMatch(/<[tld]>|<Paper>/);
  });

  it('shows no logo where a server has failed', () => {
    const html = refusalPage({ title: 'Title', lead: 'Lead', facts: [] }, LOOK, '');
    expect(html).not.toContain('<img');
    expect(html).toContain('<bdi>The &#60;Paper&#62;</bdi>');
  });

  it('a refusal of a missing page offers the front page', async () => {
    const html = await inWorker(new ReadingError('no-such-document', 'm')).text();
    expect(html).toContain('<a class="b" href="/">Front page</a>');
    expect(html).not.toContain('Try again');
  });

  it('says that the browser is offline where it is', async () => {
    const error = new ReadingError('content-host-unreachable', 'm');
    expect(await inWorker(error, false).text()).toContain('<h1>You are offline</h1>');
    expect(await inWorker(new ObjectError('block-digest', 'm'), false).text()).toContain('arrived damaged');
  });
});
