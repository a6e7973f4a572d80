/** A browser without scripts, in which somebody goes from page to page: cookies, redirects, and the forms of pages. */
import { decodeHTML } from 'entities';
import { request } from 'undici';

export interface Shown {
  readonly url: string;
  readonly status: number;
  readonly html: string;
}

const MOST_REDIRECTS = 10;

export class Visitor {
  /** Cookies by name: hosts of one machine share them, whatever their ports. */
  readonly #cookies = new Map<string, string>();

  /**
   * Goes to an address, and on to where it leads.
   *
   * @param from - the page that has led there; `undefined`: it was typed
   * @param form - is sent with it
   */
  async open(url: string, from?: Shown, form?: URLSearchParams): Promise<Shown> {
    let body = form?.toString();
    let site = from === undefined ? 'none' : 'same-origin';
    const origin = from && new URL(from.url).origin;
    for (let hops = 0; hops < MOST_REDIRECTS; hops++) {
      if (origin !== undefined && new URL(url).origin !== origin) site = 'same-site';
      const {
        statusCode,
        headers,
        body: answer,
      } = await request(url, {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          ...{ accept: 'text/html', cookie: [...this.#cookies].map((each) => each.join('=')).join('; ') },
          ...{ 'sec-fetch-site': site, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
          ...(body !== undefined && { origin, 'content-type': 'application/x-www-form-urlencoded' }),
        },
        ...(body !== undefined && { body }),
      });
      for (const line of [headers['set-cookie'] ?? []].flat()) this.#keep(line);
      const html = await answer.text();
      if (headers.location === undefined) return { url, status: statusCode, html };
      url = new URL(String(headers.location), url).href;
      body = undefined;
    }
    throw new Error(`${url} leads in a circle`);
  }

  /** Follows the first link of a page whose address has `part` in it. */
  follow(page: Shown, part: string): Promise<Shown> {
    const links = Array.from(page.html.matchAll(/<a\b[^>]*?\bhref="([^"]*)"/g), ([, href = '']) => decodeHTML(href));
    const link = links.find((href) => href.includes(part));
    if (link === undefined) throw new Error(`${page.url} has no link to ${part}`);
    return this.open(new URL(link, page.url).href, page);
  }

  /** Sends a form of a page, with what is hidden in it. @param mark - what stands in its tag */
  send(page: Shown, mark: string, typed: Readonly<Record<string, string>> = {}): Promise<Shown> {
    const forms = Array.from(page.html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g));
    const [, tag = '', inside = ''] = forms.find(([, tag = '']) => tag.includes(mark)) ?? [];
    if (tag === '') throw new Error(`${page.url} has no form ${mark}`);
    const hidden = Array.from(inside.matchAll(/<input\b[^>]*type="hidden"[^>]*>/g), ([input]) => [
      attribute(input, 'name'),
      attribute(input, 'value'),
    ]);
    const fields = new URLSearchParams({ ...Object.fromEntries(hidden), ...typed });
    return this.open(new URL(attribute(tag, 'action') || page.url, page.url).href, page, fields);
  }

  #keep(line: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (value === '') this.#cookies.delete(name);
    else this.#cookies.set(name, value);
  }
}

function attribute(tag: string, name: string): string {
  return decodeHTML(new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1] ?? '');
}
