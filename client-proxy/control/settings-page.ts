/** The page on which the reader sets what settings.ts knows. */
import { DEFAULT_PORT } from '../listening/listen.ts';
import type { FormField } from '../pages/form.ts';
import { renderPage } from '../pages/template.ts';
import { doneText, SETTINGS_TEXT } from '../pages/texts-control.ts';
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
import type { ControlAnswer } from './answer.ts';
import type { ControlContext } from './context.ts';
import type { Asked } from './control-pages.ts';

type Texts = ReadonlyMap<SettingName, string>;

export async function showSettings(context: ControlContext, { query }: Asked): Promise<ControlAnswer> {
  const { current } = context.settings;
  await context.cache.scan().catch(() => undefined); // other programs may have added to it
  const texts = new Map(SETTING_NAMES.map((name) => [name, settingText(name, current[name])]));
  return { html: renderSettings(context, texts, [], doneText(query.get('done'))) };
}

/** All or nothing; what the command line has the last word on is not in the form, and stays as it is. */
export async function saveSettings(context: ControlContext, form: URLSearchParams): Promise<ControlAnswer> {
  const texts: Texts = new Map(
    SETTING_NAMES.filter((name) => !context.fixed.has(name)).map((name) => [name, textIn(form, name)]),
  );
  const wrong = Array.from(texts)
    .filter(([name, text]) => !isSettingText(name, text))
    .map(([name]) => name);
  if (wrong.length > 0) return { html: renderSettings(context, texts, wrong), status: 422 };
  context.settings.save(texts);
  if (!context.settings.current.activity) context.activity.forget();
  return { goTo: '/settings?done=saved' };
}

/** A box that is not checked is not sent. */
function textIn(form: URLSearchParams, name: SettingName): string {
  const text = (form.get(name) ?? '').trim();
  return name === 'notices' || name === 'activity' ? text || 'off' : text;
}

function renderSettings(context: ControlContext, texts: Texts, wrong: readonly SettingName[], status?: string): string {
  return renderPage({
    title: SETTINGS_TEXT.title,
    place: 'settings',
    status,
    alert: wrong.length > 0 ? { text: SETTINGS_TEXT.wrongTitle } : undefined,
    form: {
      action: '/settings',
      token: context.token,
      fields: SETTING_NAMES.map((name) => fieldOf(name, texts, wrong, context)),
      submit: SETTINGS_TEXT.submit,
    },
  });
}

function fieldOf(name: SettingName, texts: Texts, wrong: readonly SettingName[], context: ControlContext): FormField {
  const given = givenText(name, context);
  const { label, hint, complaint } = wordsOf(name, context);
  const common = {
    name,
    label,
    hint: given === undefined ? hint : SETTINGS_TEXT.fixed,
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

/** What the command line says; of a port that it left to the system, the one that came out. */
function givenText(name: SettingName, { fixed, port }: ControlContext): string | undefined {
  const given = fixed.get(name);
  return name === 'port' && given !== undefined ? String(port() ?? given) : given;
}

function wordsOf(
  name: SettingName,
  { port, cache }: ControlContext,
): { label: string; hint: string; complaint?: string } {
  if (name === 'port') {
    const { label, hint, wrong } = SETTINGS_TEXT.port;
    return { label, hint: hint(port() ?? DEFAULT_PORT, DEFAULT_PORT), complaint: wrong };
  }
  if (name === 'cacheBytes') {
    const { label, hint, wrong } = SETTINGS_TEXT.cacheBytes;
    const { bytes, limit } = cache.status();
    const now = bytes === undefined ? undefined : Math.ceil(bytes / MEGABYTE);
    return { label, hint: hint(now, Math.floor(limit / MEGABYTE)), complaint: wrong };
  }
  const { wrong: complaint, ...words } = { wrong: '', ...SETTINGS_TEXT[name] };
  return { ...words, complaint };
}
