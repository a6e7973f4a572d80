/** The API's half of publishing: bundles and timestamps come in with a token; timestamp and roots go out to everybody. */
import type { Express, RequestHandler } from 'express';
import type { Logger } from 'pino';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';
import { BUNDLE_PATH, HAND_OVER_LIMITS, PUBLICATION_PATH } from '../../core/publication/hand-over-1.ts';
import { METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { digest } from '../digest.ts';
import { limitRequests, type RequestLimits } from '../http/limits.ts';
import { importBundle, type Origins } from '../import-bundle.ts';
import type { KeyServerState } from '../state.ts';
import type { TimestampKeeper } from '../timestamp/keeper.ts';
import { readRoot, readTimestamp } from '../timestamp/state.ts';
import { checkToken } from '../tokens.ts';
import { body, bytesOf, noStore, refuseTooMany, send, sendError } from './answers.ts';

export interface PublicationOptions {
  readonly state: KeyServerState;
  readonly keeper: TimestampKeeper;
  readonly origins: Origins;
  readonly log: Logger;
  readonly limits: RequestLimits;
}

const ROOT_FILE = /^([1-9]\d{0,5})\.root\.json$/;
/** Seconds for which others may keep a copy. The timestamp is what readers ask for to learn of news. */
const TIMESTAMP_AGE = 60;
const ROOT_AGE = 3600;

export function addPublicationRoutes(app: Express, options: PublicationOptions): void {
  addMetadataRoute(app, options);
  addPublishingRoutes(app, options);
}

/** What readers ask the key server for first: docs/spec/publication.md, "Reading". */
function addMetadataRoute(app: Express, { state: { database }, limits }: PublicationOptions): void {
  const limit = limitRequests(limits.metadataPerAddress, 'address', refuseTooMany, { failuresOnly: false });
  app.get(`${METADATA_PATH}:file`, limit, (request, response) => {
    const file = String(request.params.file);
    const [, root] = ROOT_FILE.exec(file) ?? [];
    const isTimestamp = file === TIMESTAMP_FILE;
    const bytes = isTimestamp ? readTimestamp(database) : root && readRoot(database, Number(root));
    if (!bytes) return sendError(response, 404, 'not-found');
    const etag = `"${Buffer.from(digest('entity tag', bytes)).toString('base64url').slice(0, 22)}"`;
    response.set({ ETag: etag, 'Cache-Control': `public, max-age=${isTimestamp ? TIMESTAMP_AGE : ROOT_AGE}` });
    if (names(request.headers['if-none-match'], etag)) response.status(304).end();
    else send(response, 'application/json', bytes);
  });
}

/** Whether `If-None-Match` names an entity tag. Express's own answer is no wherever the request also says `no-cache`, as programs do. */
function names(field: string | undefined, etag: string): boolean {
  return field?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag) ?? false;
}

function addPublishingRoutes(app: Express, options: PublicationOptions): void {
  const { state, keeper, origins, log, limits } = options;
  const guards = [
    noStore,
    limitRequests(limits.publishingPerAddress, 'address', refuseTooMany, { failuresOnly: false }),
    limitRequests(limits.publishingRefusals, 'address', refuseTooMany),
    demandToken(state),
  ];
  app.put(BUNDLE_PATH, ...guards, body(MESSAGE_LIMITS.bundle), async (request, response) => {
    const result = await importBundle(state, bytesOf(request.body), origins);
    log.info({ outcome: result.outcome, serial: result.serial, newSets: result.newSets }, 'a key bundle came');
    if (result.outcome === 'pinned') log.warn('a publisher was pinned: compare its fingerprint in "wispr admin list"');
    response.json(result);
  });
  app.put(PUBLICATION_PATH, ...guards, body(HAND_OVER_LIMITS.length), async (request, response) => {
    const accepted = await keeper.accept(bytesOf(request.body));
    log.info({ ...accepted }, 'a publication came');
    response.json(accepted);
  });
}

/** Before anything of the body is read. */
function demandToken(state: KeyServerState): RequestHandler {
  return (request, _response, next) => {
    checkToken(state, request.headers.authorization);
    next();
  };
}
