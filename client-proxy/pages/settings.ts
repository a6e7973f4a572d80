/** The page of the reader's settings (settings/settings.ts). */
import * as words from '../../words/en/reader.ts';
import { DEFAULT_PORT } from '../gateway/label.ts';
import {
  CACHE_MEGABYTES_MOST,
  isSettingText,
  MEGABYTE,
  PARENT_PROXY_LENGTH,
  PORTS,
  RULES_LENGTH,
  SETTING_NAMES,
  type SettingName,
  settingText,
} from '../store/settings.ts';
import type { PageAnswer, PageRequest, PagesContext } from './context.ts';
import { doneText, type FormField, renderPage } from './template.ts';

function wordsOf(name: SettingName, { port, cache }: PagesContext): words.Setting {
  if (name === 'port') return words.PORT(PORTS.least, PORTS.most, DEFAULT_PORT, port() ?? DEFAULT_PORT);
  if (name !== 'cacheBytes') return words.OTHER_SETTINGS[name];
  const { bytes, limit } = cache.status();
  if (bytes === undefined) return words.CACHE(undefined);
  return words.CACHE({ used: Math.ceil(bytes / MEGABYTE), limit: Math.floor(limit / MEGABYTE) });
}

type Texts = ReadonlyMap<SettingName, string>;

export async function showSettings(context: PagesContext, { query }: PageRequest): Promise<PageAnswer> {
  const { current } = context.settings;
  await context.cache.scan().catch(() => undefined); // programs beside this one may have added to it
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
    title: words.SETTINGS.title,
    place: 'settings',
    status,
    alert: wrong.length > 0 ? { text: words.SETTINGS.wrong } : undefined,
    form: {
      action: '/settings',
      token: context.token,
      fields: SETTING_NAMES.map((name) => fieldOf(name, texts.get(name), wrong.includes(name), context)),
      submit: words.SETTINGS.submit,
    },
  });
}

function fieldOf(name: SettingName, text = '', isWrong: boolean, context: PagesContext): FormField {
  const given = givenText(name, context);
  const { label, hint, complaint } = wordsOf(name, context);
  const common = {
    name,
    label,
    hint: given === undefined ? hint : words.SETTINGS.given,
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
    case 'httpcryptTo':
      return { ...common, kind: 'lines', value, maximumLength: RULES_LENGTH };
    case 'parentProxy':
      return { ...common, kind: 'text', value, maximumLength: PARENT_PROXY_LENGTH };
    case 'httpcrypt':
    case 'notices':
    case 'activity':
      return { ...common, kind: 'check', value: 'on', checked: value === 'on' };
  }
}

/** Returns what the command line has decided; for a port that it left to the system, the one that was chosen. */
function givenText(name: SettingName, { fixed, port }: PagesContext): string | undefined {
  const given = fixed.get(name);
  return name === 'port' && given !== undefined ? String(port() ?? given) : given;
}
