/** The page of the reader's settings (settings/settings.ts). */
import { DEFAULT_PORT } from '../gateway/label.ts';
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
} from '../store/settings.ts';
import type { PageAnswer, PageRequest, PagesContext } from './context.ts';
import { doneText, type FormField, renderPage } from './template.ts';

interface SettingText {
  readonly label: string;
  readonly hint: string;
  readonly complaint?: string;
}

const RESTART = 'Takes effect after a restart.';

const SETTING_TEXTS: { readonly [name in SettingName]: (context: PagesContext) => SettingText } = {
  port: ({ port }) => ({
    label: 'Port',
    hint: `A number from ${PORTS.least} to ${PORTS.most}; empty: ${DEFAULT_PORT}. Now ${port() ?? DEFAULT_PORT}; a new one takes effect after a restart, and changes all addresses of the Reader.`,
    complaint: `Not a port: a number from ${PORTS.least} to ${PORTS.most}, or nothing.`,
  }),
  parentProxy: () => ({
    label: 'Another proxy to go through',
    hint: `For example http://proxy.example:3128; empty: none. ${RESTART}`,
    complaint:
      'Not the address of a proxy: http://, a name, and perhaps a port. One with a password is given on the command line, with --parent-proxy-file.',
  }),
  allowLocal: () => ({
    label: 'Local addresses that pages may reach',
    hint: `On this computer and in your network, one per line: printer.lan:631, 192.168.1.0/24. Empty: none, the safe choice. ${RESTART}`,
    complaint: 'Something here is neither a name nor an address, or there are more than 32.',
  }),
  httpcrypt: () => ({
    label: 'Fetch keys over plain HTTP, encrypted by HTTPCrypt',
    hint: `For networks that block HTTPS. Only from publishers who offer it, and from them in no other way. ${RESTART}`,
  }),
  cacheBytes: ({ cache }) => {
    const { bytes, limit } = cache.status();
    const used =
      bytes === undefined ? '' : `${Math.ceil(bytes / MEGABYTE)} of ${Math.floor(limit / MEGABYTE)} megabytes in use. `;
    return {
      label: 'Megabytes kept of what you read',
      hint: `For reading without a network; protected pages stay encrypted. 0 keeps nothing. ${used}${RESTART}`,
      complaint: 'Not a number of megabytes.',
    };
  },
  notices: () => ({
    label: 'Warn me before I read a site that may be out of date',
    hint: 'A page in front of it, twice a day at most. “Your sites” says it in any case.',
  }),
  activity: () => ({
    label: 'List what I read recently on the first page',
    hint: 'In memory only: the list is gone when the Reader stops.',
  }),
};

type Texts = ReadonlyMap<SettingName, string>;

export async function showSettings(context: PagesContext, { query }: PageRequest): Promise<PageAnswer> {
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

const BOXES: readonly SettingName[] = ['httpcrypt', 'notices', 'activity'];

/** A box that is not checked is not sent. */
function textIn(form: URLSearchParams, name: SettingName): string {
  const text = (form.get(name) ?? '').trim();
  return BOXES.includes(name) ? text || 'off' : text;
}

function renderSettings(context: PagesContext, texts: Texts, wrong: readonly SettingName[], status?: string): string {
  return renderPage({
    title: 'Settings',
    place: 'settings',
    status,
    alert: wrong.length > 0 ? { text: 'Something is not valid, so nothing was saved.' } : undefined,
    form: {
      action: '/settings',
      token: context.token,
      fields: SETTING_NAMES.map((name) => fieldOf(name, texts.get(name), wrong.includes(name), context)),
      submit: 'Save',
    },
  });
}

function fieldOf(name: SettingName, text = '', isWrong: boolean, context: PagesContext): FormField {
  const given = givenText(name, context);
  const { label, hint, complaint } = SETTING_TEXTS[name](context);
  const common = {
    name,
    label,
    hint: given === undefined ? hint : 'Set on the command line this time.',
    wrong: isWrong ? complaint : undefined,
    fixed: given !== undefined,
  };
  const value = given ?? text;
  switch (name) {
    case 'port':
      return { ...common, kind: 'number', value, minimum: PORTS.least, maximum: PORTS.most };
    case 'cacheBytes':
      return { ...common, kind: 'number', value, minimum: 0, maximum: CACHE_MEGABYTES_MOST };
    case 'allowLocal':
      return { ...common, kind: 'lines', value, maximumLength: LOCAL_LENGTH };
    case 'parentProxy':
      return { ...common, kind: 'text', value, maximumLength: PARENT_PROXY_LENGTH };
    case 'httpcrypt':
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
