/**
 * Lets only a form that this run of the Reader has shown change something on its own pages. Every changing request has to pass all of these, in
 * this order: method, host, Fetch Metadata, `Origin`, media type, length, token.
 */
import type { IncomingMessage } from 'node:http';
import { equalSecrets, randomBytes } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { readAtMost } from '../../core/encoding/byte-reader.ts';
import { fromUtf8, utf8 } from '../../core/encoding/bytes.ts';
import { parseMediaType } from '../../node-support/media-type.ts';
import { isWindow, senderOf } from '../../reading/navigation.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';

/** The names under which these pages are asked for. Another one is DNS rebinding. */
const OWN_HOSTS: readonly string[] = ['localhost', '127.0.0.1'];
const MEDIA_TYPE = 'application/x-www-form-urlencoded';

/** Address of a request: its URL in absolute form, otherwise its `Host`. */
export interface RequestHost {
  readonly host: string;
  readonly port: number;
}

export class Guard {
  /** Value of the hidden field `token` of every form: random, of this run. A page of another origin cannot read it. */
  readonly token = toBase64url(randomBytes(32));
  readonly #ownPort: () => number | undefined;

  constructor(ownPort: () => number | undefined) {
    this.#ownPort = ownPort;
  }

  /** Tells whether a request is addressed to these pages, and not to a gateway or a foreign name. */
  isOwn({ host, port }: RequestHost): boolean {
    return port === this.#ownPort() && OWN_HOSTS.includes(host);
  }

  /** Reads a form of this page. @throws ReaderError `method-refused`, `host-unknown`, `cross-site`, `form-malformed` */
  async readForm(request: IncomingMessage, asked: RequestHost): Promise<URLSearchParams> {
    if (request.method !== 'POST') throw new ReaderError('method-refused', 'forms are posted');
    if (!this.isOwn(asked)) throw new ReaderError('host-unknown', 'the address is not one of this program');
    checkSender(request, `http://${asked.host}:${asked.port}`);
    const fields = await this.#fieldsOf(request);
    if (!equalSecrets(utf8(fields.get('token') ?? ''), utf8(this.token)))
      throw new ReaderError('form-malformed', 'the form does not carry the token of this run of the Reader');
    return fields;
  }

  /**
   * The fields of a form that any page may have sent. It may fill in one of these pages and change nothing: it has no token, so what is shown
   * for it takes a form of this page's own. Only the navigation of a whole window is taken, which the person sees, from a browser that says so.
   *
   * @throws ReaderError as {@link readForm}
   */
  async readForeignForm(request: IncomingMessage, asked: RequestHost): Promise<URLSearchParams> {
    if (!this.isOwn(asked)) throw new ReaderError('host-unknown', 'the address is not one of this program');
    if (!isWindow(request.headers))
      throw new ReaderError('cross-site', 'only a browser brings a form of another page, in a window of its own');
    return this.#fieldsOf(request);
  }

  async #fieldsOf(request: IncomingMessage): Promise<URLSearchParams> {
    checkForm(request);
    return parse(await readBody(request));
  }
}

/** Refuses links of other sites to a page that takes something away for good. @throws ReaderError `cross-site` */
export function checkOwnLink({ headers }: IncomingMessage): void {
  if (senderOf(headers) === 'elsewhere')
    throw new ReaderError('cross-site', "only the Reader's own pages lead to this one");
}

/** Browsers say with every form from which origin it comes; a program that does not say so has no business here. */
function checkSender({ headers }: IncomingMessage, ownOrigin: string): void {
  const site = headers['sec-fetch-site'];
  if (headers.origin !== ownOrigin || (site !== undefined && site !== 'same-origin'))
    throw new ReaderError('cross-site', "the form was not sent by one of the Reader's own pages");
}

function checkForm({ headers }: IncomingMessage): void {
  const type = parseMediaType(headers['content-type'] ?? '');
  const charset = type?.params.get('charset') ?? 'utf-8';
  if (type?.essence !== MEDIA_TYPE || charset.toLowerCase() !== 'utf-8' || headers['content-encoding'] !== undefined)
    throw new ReaderError('form-malformed', `a form is sent as ${MEDIA_TYPE}`);
  if (Number(headers['content-length'] ?? 0) > LIMITS.formLength) throw tooLong();
}

/** Bounded in size and time, also where no length was announced. */
async function readBody(request: IncomingMessage): Promise<string> {
  const tooSlow = () => request.destroy(new ReaderError('form-malformed', 'the form did not arrive in time'));
  const timer = setTimeout(tooSlow, LIMITS.formTimeout);
  try {
    const bytes = await readAtMost(request.iterator({ destroyOnReturn: false }), LIMITS.formLength);
    if (bytes === undefined) throw tooLong();
    const text = fromUtf8(bytes);
    if (text === undefined) throw new ReaderError('form-malformed', 'the form is not UTF-8');
    return text;
  } finally {
    clearTimeout(timer);
  }
}

/** A field that stands twice, where one is meant, has no right value: sites to be connected are the only ones that may. */
function parse(text: string): URLSearchParams {
  const fields = new URLSearchParams(text);
  if (fields.size > LIMITS.formFields) throw new ReaderError('form-malformed', 'the form has too many fields');
  if (fields.getAll('token').length > 1) throw new ReaderError('form-malformed', 'the form has two tokens');
  return fields;
}

function tooLong(): ReaderError {
  return new ReaderError('form-malformed', `a form has at most ${LIMITS.formLength} bytes`);
}
