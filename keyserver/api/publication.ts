/** The API's half of publishing: bundles and publications come in with a token; timestamp, snapshot and roots go out to all readers. */
import type { Express } from 'express';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';
import {
  BUNDLE_PATH,
  FORMER_READERS_PATH,
  HAND_OVER_LIMITS,
  PUBLICATION_PATH,
  PUBLISHING_PATH,
} from '../../core/publication/hand-over.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { isNotModified } from '../../reading/validators.ts';
import { noStore } from '../http/app.ts';
import { limitRequests } from '../http/limits.ts';
import { importBundle } from '../publication/import-bundle.ts';
import { holdSite, parseRun, releaseSite } from '../publication/publishing.ts';
import { readMetadata, readPublication } from '../publication/stored.ts';
import { listTokens } from '../publication/tokens.ts';
import { digest } from '../storage/digest.ts';
import { keysOfFormerReaders } from '../subscriptions/lost-access.ts';
import { warnOfVainOffers } from '../subscriptions/named-plans.ts';
import { actingState, body, bytesOf, demandToken, refuseTooMany, send, sendError } from './answers.ts';
import type { ApiOptions } from './options.ts';

/** Seconds for which others may keep a copy. The timestamp is what readers ask for to learn of news. */
const TIMESTAMP_AGE = 60;
const VERSIONED_AGE = 3600;
const MAXIMUM_RUN_LENGTH = 1024;

/** Serves what readers ask the key server for first: docs/spec/publication.md, "Reading". */
function addMetadataRoute(app: Express, { state: { database }, limits }: ApiOptions): void {
  const limit = limitRequests(limits.metadataPerAddress, refuseTooMany);
  app.get(`${METADATA_PATH}:file`, limit, async (request, response) => {
    const file = String(request.params.file);
    const bytes = await readMetadata(database, file);
    if (!bytes) return sendError(response, 404, 'not-found');
    const etag = `"${Buffer.from(digest('entity tag', bytes)).toString('base64url').slice(0, 22)}"`;
    const age = file === TIMESTAMP_FILE ? TIMESTAMP_AGE : VERSIONED_AGE;
    response.set({ ETag: etag, 'Cache-Control': `public, max-age=${age}` });
    // `request.fresh` of Express does not do: it is false wherever the request also says `no-cache`, as programs do.
    if (isNotModified(request.headers, { etag, lastModified: undefined })) response.status(304).end();
    else send(response, 'application/json', bytes);
  });
}

function sayWho({ who, place }: { readonly who: string; readonly place: string }) {
  return { by: who.replace(/^token /, ''), from: place };
}

export function addPublicationRoutes(app: Express, options: ApiOptions): void {
  addMetadataRoute(app, options);
  const { state, keeper, origins, log, limits, mailer, stripe } = options;
  const guards = [
    noStore,
    demandToken(state, 'publish', limits.publishingRefusals),
    limitRequests(limits.publishingPerAddress, refuseTooMany),
  ];
  app.put(BUNDLE_PATH, ...guards, body(MESSAGE_LIMITS.bundle), async (request, response) => {
    const result = await importBundle(actingState(state, response), bytesOf(request.body), origins);
    log.info({ outcome: result.outcome, serial: result.serial, newSets: result.newSets }, 'a key bundle came');
    if (result.outcome !== 'unchanged') await warnOfVainOffers({ mail: mailer, stripe }, state, log);
    if (result.outcome === 'pinned') log.warn('a publisher was pinned: compare its fingerprint in "wispr admin list"');
    response.json(result);
  });
  app.get(PUBLISHING_PATH, ...guards, async (_request, response) => {
    const own = (await listTokens(state)).find(({ name }) => response.locals.actor === `token ${name}`);
    const known = await readPublication(state.database);
    const last = known && { publication: known.snapshotVersion, time: known.published, ...sayWho(known) };
    response.json({ expires: own?.expires, last });
  });
  app.get(FORMER_READERS_PATH, ...guards, async (_request, response) => {
    response.json({ keys: await keysOfFormerReaders(state) });
  });
  app.put(PUBLISHING_PATH, ...guards, body(MAXIMUM_RUN_LENGTH), async (request, response) => {
    const other = await holdSite(actingState(state, response), parseRun(bytesOf(request.body)));
    if (!other) return void response.status(204).end();
    response.status(409).json({ error: 'publishing-elsewhere', since: other.since, ...sayWho(other) });
  });
  app.delete(`${PUBLISHING_PATH}/:run`, ...guards, async (request, response) => {
    await releaseSite(state, String(request.params.run));
    response.status(204).end();
  });
  app.put(PUBLICATION_PATH, ...guards, body(HAND_OVER_LIMITS.length), async (request, response) => {
    const accepted = await keeper.accept(bytesOf(request.body), response.locals.actor);
    const { outcome, publication } = accepted;
    log.info({ outcome, publication }, 'a publication came');
    const timestamp = toBase64url(accepted.timestamp);
    if (outcome === 'current') response.json({ timestamp });
    else response.status(409).json({ error: outcome, timestamp });
  });
}
