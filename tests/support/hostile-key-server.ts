/**
 * A key server that does what a test makes it do, for tests of the reader: a real HTTP or HTTPS server that answers with the functions of
 * core/keys, and, where a test says so, dishonestly. Where honesty is enough there is the real one, key-server.ts.
 */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { randomBytes } from '#primitives';
import type { KeyId } from '../../core/crypto/key-id.ts';
import { collect } from '../../core/encoding/byte-reader.ts';
import { answerBinding, BINDING_PATH, normaliseCode, verifyBindingRequest } from '../../core/keys/binding.ts';
import {
  encodeKeyAnswer,
  isRequestBy,
  KEY_REQUEST_PATH,
  type KeyAnswer,
  type KeyRequest,
  parseKeyRequest,
} from '../../core/keys/key-request.ts';
import type { RefusalReason } from '../../core/keys/refused-key.ts';
import { type NamedKey, wrapKey } from '../../core/keys/wrapped-key.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { DESCRIPTOR_PATH } from '../../core/site/well-known.ts';
import { closeServer, listenOnLoopback } from './content-host.ts';
import type { TestPublisher } from './test-publisher.ts';

interface Grant {
  readonly set: NamedKey;
  readonly notBefore: number;
  readonly notAfter: number;
}

export interface HostileKeyServerOptions {
  readonly tls?: { readonly key: string; readonly cert: string };
  /** The name in its origin, where it is not the address. */
  readonly host?: string;
}

export class HostileKeyServer {
  readonly origin: string;
  readonly port: number;
  readonly publisher: TestPublisher;
  descriptor: Uint8Array;
  /** Files of the publication that it has, by URL path; the first root to begin with. */
  readonly metadata = new Map<string, Uint8Array>();
  /** Codes that are still good. */
  readonly codes = new Set<string>();
  readonly devices = new Map<KeyId, NamedKey>();
  readonly grants = new Map<KeyId, Grant>();
  readonly refusals = new Map<KeyId, RefusalReason>();
  /** Key requests that came. */
  readonly keyRequests: KeyRequest[] = [];
  /** Bodies that came, as they came. */
  readonly bodies: Uint8Array[] = [];
  /** The last answer to a key request, as it went out. */
  lastAnswer: Uint8Array = new Uint8Array(0);
  /** Changes an answer on its way out. */
  tamper: (answer: KeyAnswer, device: NamedKey) => KeyAnswer | Promise<KeyAnswer> = (answer) => answer;
  /** Answers instead of the server, where it returns `true`. */
  instead: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  readonly #server: Server;

  private constructor(server: Server, origin: string, port: number, publisher: TestPublisher) {
    this.#server = server;
    this.origin = origin;
    this.port = port;
    this.publisher = publisher;
    this.descriptor = publisher.descriptor(origin);
    publisher.setDescriptor(this.descriptor);
    this.metadata.set(`${METADATA_PATH}1.root.json`, publisher.root.bytes);
    this.grant(publisher.set);
  }

  static async start(
    publisher: TestPublisher,
    { tls, host = '127.0.0.1' }: HostileKeyServerOptions = {},
  ): Promise<HostileKeyServer> {
    let peer: HostileKeyServer | undefined;
    const listener: RequestListener = (request, response) => {
      peer?.handle(request, response).catch(() => response.destroy());
    };
    const server = tls ? createSecureServer(tls, listener) : createServer(listener);
    const port = await listenOnLoopback(server);
    peer = new HostileKeyServer(server, `${tls ? 'https' : 'http'}://${host}:${port}`, port, publisher);
    return peer;
  }

  /** A fresh invitation, as a reader gets it. */
  async invite(): Promise<string> {
    const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
    const code = Array.from(randomBytes(16), (byte) => alphabet[byte % 32]).join('');
    this.codes.add(code);
    return `${this.origin}#${code.replace(/(.{4})(?=.)/g, '$1-')}.${this.publisher.root.id}`;
  }

  grant(set: NamedKey, validity: { notBefore?: number; notAfter?: number } = {}): void {
    const now = Math.floor(Date.now() / 1000);
    this.grants.set(set.id, { set, notBefore: now - 3600, notAfter: now + 86_400, ...validity });
  }

  close(): Promise<void> {
    return closeServer(this.#server);
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.instead(request, response)) return;
    if (request.url === DESCRIPTOR_PATH) {
      response.end(this.descriptor);
      return;
    }
    if (request.url?.startsWith(METADATA_PATH)) {
      const file = this.metadata.get(request.url);
      response.writeHead(file ? 200 : 404).end(file);
      return;
    }
    const body = await collect(request);
    this.bodies.push(body);
    if (request.url === BINDING_PATH) await this.#bind(body, response);
    else if (request.url === KEY_REQUEST_PATH) await this.#answer(body, response);
    else response.writeHead(404).end();
  }

  async #bind(body: Uint8Array, response: ServerResponse): Promise<void> {
    const verified = await verifyBindingRequest(body);
    if (!this.codes.delete(normaliseCode(verified.code) ?? '')) {
      response.writeHead(403, { 'content-type': 'application/json' }).end('{"error":"code-refused"}');
      return;
    }
    const { answer, deviceKey } = await answerBinding(body, verified, this.origin);
    this.devices.set(deviceKey.id, deviceKey);
    response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
  }

  async #answer(body: Uint8Array, response: ServerResponse): Promise<void> {
    const request = parseKeyRequest(body);
    this.keyRequests.push(request);
    const device = this.devices.get(request.device);
    if (!device || !(await isRequestBy(request, this.origin, device.key))) {
      response.writeHead(403, { 'content-type': 'application/json' }).end('{"error":"request-refused"}');
      return;
    }
    const answer = await this.tamper(await this.#answerOf(request, device), device);
    this.lastAnswer = await encodeKeyAnswer(answer, body, device.key);
    response.end(this.lastAnswer);
  }

  async #answerOf({ keys: ids }: KeyRequest, device: NamedKey): Promise<KeyAnswer> {
    const granted = ids.flatMap((id) => (this.refusals.has(id) ? [] : (this.grants.get(id) ?? [])));
    const keys = granted.map(({ set, ...validity }) => wrapKey(device, { ...set, kind: 'set' }, validity));
    const missing = ids.filter((id) => !granted.some(({ set }) => set.id === id));
    const refused = missing.map((id) => ({ id, reason: this.refusals.get(id) ?? ('not-entitled' as const) }));
    return { keys: await Promise.all(keys), refused, time: Math.floor(Date.now() / 1000) };
  }
}
