/** The pages: eta templates, which escape whatever is put into them, and the words that several have in common. */
import { Eta } from 'eta';
import type { Request, Response } from 'express';
import { utcMinute } from '../../node-support/clock.ts';
import { readProgramFile } from '../../node-support/program-files.ts';
import { fileOf, type WebReaderFile } from '../../node-support/web-reader-files.ts';
import type { KeyServerConfig } from '../config/config.ts';
import type { AppOptions } from '../http/app.ts';
import { queryOf } from '../http/forms.ts';
import type { RequestLimits } from '../http/limits.ts';
import type { Origins } from '../publication/import-bundle.ts';
import type { ProviderReader } from '../publication/provider.ts';
import type { ReadingCookie } from '../reading-site/session-cookie.ts';
import { PASSKEY_SCRIPT } from '../sign-in/passkeys.ts';
import type { KeyServerState } from '../storage/state.ts';
import type { Operator } from './operators.ts';

const TEMPLATES =
  'audit confirm import imported invite invited join layout overview passkey person plans problem requests revoke revoke-list sets sign-in subscribers';

const eta = new Eta({ autoEscape: true });
for (const name of TEMPLATES.split(' ')) {
  eta.loadTemplate(`@${name}`, readProgramFile(`pages/${name}.eta`, import.meta.url).toString());
}

export const ASSETS: Readonly<Record<string, { readonly type: string; readonly file: WebReaderFile }>> = {
  '/style.css': { type: 'text/css', file: asset('style.css') },
  '/join.js': { type: 'text/javascript', file: asset('join.js') },
  '/passkeys.js': { type: 'text/javascript', file: PASSKEY_SCRIPT },
};

export interface AdminSiteOptions extends AppOptions {
  readonly state: KeyServerState;
  readonly config: KeyServerConfig;
  readonly provider: ProviderReader;
  readonly origins: Origins;
  readonly limits: RequestLimits;
}

export interface AdminPages extends AdminSiteOptions {
  readonly cookie: ReadingCookie;
  readonly publisher: () => Promise<string>;
}

interface Page {
  readonly title: string;
  /** Entry of the menu that is the current one: the first part of its path. */
  readonly section: string;
  readonly script?: string;
}

export async function sendPage(
  pages: AdminPages,
  response: Response,
  template: string,
  page: Page & Readonly<Record<string, unknown>>,
): Promise<void> {
  const operator: Operator | undefined = response.locals.operator;
  const head = { publisher: await pages.publisher(), host: new URL(pages.origin).host, operator: operator?.name };
  response.type('html').send(eta.render(`@${template}`, { script: '', ...page, head, words: WORDS }));
}

/** The state, for what an operator changes. */
export function operatorState({ locals }: Response): KeyServerState {
  return locals.state;
}

/** A member of the query, as far as an operator types it; one that is missing is empty. */
export function query(request: Request, name: string): string {
  return queryOf(request, name).slice(0, 200);
}

/** A query with what is not empty, or nothing. */
export function queryWith(members: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(members).filter((member): member is [string, string] => Boolean(member[1]));
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}

const day = (time: number) => new Date(time * 1000).toISOString().slice(0, 10);
const number = (n: number) => n.toLocaleString('en-GB');

/** Says how long ago, or until then. */
function distance(seconds: number): string {
  const [size, unit] = (
    [
      [86_400, 'day'],
      [3600, 'hour'],
      [60, 'minute'],
    ] as const
  ).find(([each]) => seconds >= 2 * each) ?? [60, 'minute'];
  const n = Math.floor(seconds / size);
  return n < 1 ? 'under a minute' : `${n} ${unit}${n === 1 ? '' : 's'}`;
}

const WORDS = { day, minute: utcMinute, number, distance };

function asset(file: string): WebReaderFile {
  return fileOf(readProgramFile(`assets/${file}`, import.meta.url));
}
