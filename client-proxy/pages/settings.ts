/** The page of the reader's settings (settings/settings.ts). */
import { DEFAULT_PORT } from '../listening/listen.ts';
import {
  CACHE_MEGABYTES_MOST,
  isSettingText,
  LOCAL_LENGTH,
  MEGABYTE,
  PARENT_PROXY_LENGTH,
  PORTS,
  SETTING_NAMES,
  type SettingName,
  settingText,
} from '../settings/settings.ts';
import type { Asked, PageAnswer, PagesContext } from './context.ts';
import { doneText, type FormField, renderPage } from './template.ts';

const TEXT = {
  title: 'Settings',
  submit: 'Save',
  wrongTitle: 'Something is not valid, so nothing was saved.',
  fixed: 'Set on the command line this time.',
  port: {
    label: 'Port',
    hint: (now: number, usual: number) =>
      `A number from 1024 to 65535; empty: ${usual}. Now ${now}; a new one takes effect after a restart, and changes all addresses of the Reader.`,
    wrong: 'Not a port: a number from 1024 to 65535, or nothing.',
  },
  parentProxy: {
    label: 'Another proxy to go through',
    hint: 'For example http://proxy.example:3128; empty: none. Takes effect after a restart.',
    wrong:
      'Not the address of a proxy: http://, a name, and perhaps a port. One with a password is given on the command line, with --parent-proxy-file.',
  },
  allowLocal: {
    label: 'Local addresses that pages may reach',
    hint: 'On this computer and in your network, one per line: printer.lan:631, 192.168.1.0/24. Empty: none, the safe choice. Takes effect after a restart.',
    wrong: 'Something here is neither a name nor an address, or there are more than 32.',
  },
  cacheBytes: {
    label: 'Megabytes kept of what you read',
    hint: (now: number | undefined, limit: number) =>
      `For reading without a network; protected pages stay encrypted. 0 keeps nothing. ${now === undefined ? '' : `${now} of ${limit} megabytes ${now === 1 ? 'is' : 'are'} in use. `}Takes effect after a restart.`,
    wrong: 'Not a number of megabytes.',
  },
  notices: {
    label: 'Warn me before I read a site that has not been confirmed for long',
    hint: 'A page in front of it, twice a day at most. “Your sites” says it in any case.',
  },
  activity: {
    label: 'List what I read recently on the first page',
    hint: 'In memory only: the list is gone when the Reader stops.',
  },
} as const;

type Texts = ReadonlyMap<SettingName, string>;

export async function showSettings(context: PagesContext, { query }: Asked): Promise<PageAnswer> {
  const { current } = context.settings;
  await context.cache.scan().catch(() => undefined); // other programs may have added to it
  const texts = new Map(SETTING_NAMES.map((name) => [name, settingText(name, current[name])]));
  return { html: renderSettings(context, texts, [], doneText(query.get('done'))) };
}

/** Saves all or nothing. What the command line has decided is not in the form, and stays as it is. */
export async function saveSettings(context: PagesContext, form: URLSearchParams): Promise<PageAnswer> {
  const texts: Texts = new Map(
    SETTING_NAMES.filter((name) => !context.fixed.has(name)).map((name) => [name, textIn(form, name)]),
  );
  const wrong = Array.from(texts)
    .filter(([name, text]) => !isSettingText(name, text))
    .map(([name]) => name);
  if (wrong.length > 0) return { html: renderSettings(context, texts, wrong), status: 422 };
  context.settings.save(texts);
  if (!context.settings.current.activity) context.activity.clear();
  return { goTo: '/settings?done=saved' };
}

/** A box that is not checked is not sent. */
function textIn(form: URLSearchParams, name: SettingName): string {
  const text = (form.get(name) ?? '').trim();
  return name === 'notices' || name === 'activity' ? text || 'off' : text;
}

function renderSettings(context: PagesContext, texts: Texts, wrong: readonly SettingName[], status?: string): string {
  return renderPage({
    title: TEXT.title,
    place: 'settings',
    status,
    alert: wrong.length > 0 ? { text: TEXT.wrongTitle } : undefined,
    form: {
      action: '/settings',
      token: context.token,
      fields: SETTING_NAMES.map((name) => fieldOf(name, texts, wrong, context)),
      submit: TEXT.submit,
    },
  });
}

function fieldOf(name: SettingName, texts: Texts, wrong: readonly SettingName[], context: PagesContext): FormField {
  const given = givenText(name, context);
  const { label, hint, complaint } = wordsOf(name, context);
  const common = {
    name,
    label,
    hint: given === undefined ? hint : TEXT.fixed,
    wrong: wrong.includes(name) ? complaint : undefined,
    fixed: given !== undefined,
  };
  const value = given ?? texts.get(name) ?? '';
  switch (name) {
    case 'port':
      return { ...common, kind: 'number', value, minimum: PORTS.least, maximum: PORTS.most };
    case 'cacheBytes':
      return { ...common, kind: 'number', value, minimum: 0, maximum: CACHE_MEGABYTES_MOST };
    case 'allowLocal':
      return { ...common, kind: 'lines', value, maximumLength: LOCAL_LENGTH };
    case 'parentProxy':
      return { ...common, kind: 'text', value, maximumLength: PARENT_PROXY_LENGTH };
    case 'notices':
    case 'activity':
      return { ...common, kind: 'check', value: 'on', checked: value === 'on' };
  }
}

/** What the command line has decided; for a port that it left to the system, the one that was chosen. */
function givenText(name: SettingName, { fixed, port }: PagesContext): string | undefined {
  const given = fixed.get(name);
  return name === 'port' && given !== undefined ? String(port() ?? given) : given;
}

function wordsOf(
  name: SettingName,
  { port, cache }: PagesContext,
): { label: string; hint: string; complaint?: string } {
  if (name === 'port') {
    const { label, hint, wrong } = TEXT.port;
    return { label, hint: hint(port() ?? DEFAULT_PORT, DEFAULT_PORT), complaint: wrong };
  }
  if (name === 'cacheBytes') {
    const { label, hint, wrong } = TEXT.cacheBytes;
    const { bytes, limit } = cache.status();
    const now = bytes === undefined ? undefined : Math.ceil(bytes / MEGABYTE);
    return { label, hint: hint(now, Math.floor(limit / MEGABYTE)), complaint: wrong };
  }
  const { wrong: complaint, ...words } = { wrong: '', ...TEXT[name] };
  return { ...words, complaint };
}
