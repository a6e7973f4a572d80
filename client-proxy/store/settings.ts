/**
 * Settings that a reader may choose: which there are, what each may be, and what it is where nothing was chosen. Every value has one text, which
 * stands in the form and in the database; a stored one that is no good any more counts as not chosen.
 */
import { formatEndpoint, type HttpcryptEndpoint } from '../../core/httpcrypt/endpoint.ts';
import type { AllowLocal } from '../../node-support/addresses.ts';
import { LIMITS } from '../limits.ts';
import { otherOf, parseHttpcryptTo } from '../network/httpcrypt-to.ts';
import { parseAllowLocal } from '../network/local-addresses.ts';
import type { Preferences } from './preferences.ts';

export interface Settings {
  /** Port on which the Reader listens; `undefined`: the usual one. */
  readonly port: number | undefined;
  /** URL of an HTTP proxy through which all plain HTTP goes. */
  readonly parentProxy: string | undefined;
  readonly allowLocal: readonly AllowLocal[];
  /** Tells whether key servers that take HTTPCrypt are asked by it alone. */
  readonly httpcrypt: boolean;
  /** Hosts that plain HTTP goes to over HTTPCrypt alone. */
  readonly httpcryptTo: readonly HttpcryptEndpoint[];
  /** The most that is kept, as ciphertext, of what was read; 0: nothing. */
  readonly cacheBytes: number;
  /** Tells whether a page stands in front of sites that were not confirmed for long. */
  readonly notices: boolean;
  readonly activity: boolean;
}

export type SettingName = keyof Settings;

interface Setting<Value> {
  /** @returns `undefined` for a text that is no value */
  readonly parse: (text: string) => { readonly value: Value } | undefined;
  readonly format: (value: Value) => string;
  readonly usual: Value;
}

/** Ports that may be chosen: those below are of system services, and need rights that the Reader shall not have. */
export const PORTS = { least: 1024, most: 65_535 } as const;
export const PARENT_PROXY_LENGTH = 300;
/** Rules in a list: their number, and their characters together. */
const RULES_MOST = 32;
export const RULES_LENGTH = 4000;
/** Readers think in megabytes; 2^20 bytes, as `--cache-size` counts them. */
export const MEGABYTE = 1_048_576;
export const CACHE_MEGABYTES_MOST = 16_777_216;

const PORT: Setting<number | undefined> = {
  parse: (text) => {
    if (text === '') return { value: undefined };
    const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
    return port >= PORTS.least && port <= PORTS.most ? { value: port } : undefined;
  },
  format: (port) => (port === undefined ? '' : String(port)),
  usual: undefined,
};

const PARENT_PROXY: Setting<string | undefined> = {
  parse: (text) => {
    if (text === '') return { value: undefined };
    const url = text.length <= PARENT_PROXY_LENGTH && URL.canParse(text) ? new URL(text) : undefined;
    const plain = url?.protocol === 'http:' && url.pathname === '/' && url.search === '' && url.hash === '';
    // A password would stand in the form, readable over the reader's shoulder.
    return plain && url.username === '' && url.password === '' ? { value: url.origin } : undefined;
  },
  format: (url) => url ?? '',
  usual: undefined,
};

/** @param parse - throws for a text that is no rule */
function listOf<Rule>(parse: (text: string) => Rule, format: (rule: Rule) => string): Setting<readonly Rule[]> {
  return {
    parse: (text) => {
      const lines = text.split(/\s+/).filter(Boolean);
      if (lines.length > RULES_MOST || text.length > RULES_LENGTH) return undefined;
      try {
        return { value: lines.map((line) => parse(line)) };
      } catch {
        return undefined;
      }
    },
    format: (rules) => rules.map(format).join('\n'),
    usual: [],
  };
}

const CACHE: Setting<number> = {
  parse: (text) => {
    const megabytes = /^\d{1,8}$/.test(text) ? Number(text) : Number.NaN;
    return megabytes <= CACHE_MEGABYTES_MOST ? { value: megabytes * MEGABYTE } : undefined;
  },
  format: (bytes) => String(Math.floor(bytes / MEGABYTE)),
  usual: LIMITS.cacheBytes,
};

const ON: Setting<boolean> = {
  parse: (text) => (text === 'on' || text === 'off' ? { value: text === 'on' } : undefined),
  format: (on) => (on ? 'on' : 'off'),
  usual: true,
};

const OFF: Setting<boolean> = { ...ON, usual: false };

const SETTINGS: { readonly [Name in SettingName]: Setting<Settings[Name]> } = {
  port: PORT,
  parentProxy: PARENT_PROXY,
  allowLocal: listOf(parseAllowLocal, ({ text }) => text),
  httpcrypt: OFF,
  httpcryptTo: listOf(parseHttpcryptTo, formatEndpoint),
  cacheBytes: CACHE,
  notices: ON,
  activity: ON,
};

export const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[];

/** Tells whether a text may be saved as a value of a setting. */
export function isSettingText(name: SettingName, text: string): boolean {
  // Texts that were saved before stay as they are: a list that counted as not chosen would send all of its hosts in clear.
  if (name === 'httpcryptTo') return isOneEach(SETTINGS[name].parse(text)?.value);
  return SETTINGS[name].parse(text) !== undefined;
}

function isOneEach(endpoints: readonly HttpcryptEndpoint[] | undefined): boolean {
  return endpoints?.every((endpoint, index) => !otherOf(endpoint, endpoints.slice(0, index))) ?? false;
}

/** The text of a value. */
export function settingText<Name extends SettingName>(name: Name, value: Settings[Name]): string {
  return SETTINGS[name].format(value);
}

export class SettingsKeeper {
  readonly #preferences: Preferences;
  #current: Settings;

  constructor(preferences: Preferences) {
    this.#preferences = preferences;
    this.#current = readSettings(preferences.settings());
  }

  get current(): Settings {
    return this.#current;
  }

  /** @param texts - each of them a value of its setting, {@link isSettingText} */
  save(texts: ReadonlyMap<SettingName, string>): void {
    const usual = (name: SettingName, text: string) => text === settingText(name, SETTINGS[name].usual);
    const normal = Array.from(texts, ([name, text]) => [name, normalText(name, text)] as const);
    this.#preferences.saveSettings(new Map(normal.map(([name, text]) => [name, usual(name, text) ? undefined : text])));
    this.#current = readSettings(this.#preferences.settings());
  }
}

/** Settings that the reader's commands may be told of their own, and that are stored otherwise. */
export interface ChosenSettings {
  readonly parentProxy?: string | undefined;
  readonly allowLocal?: readonly AllowLocal[] | undefined;
  readonly httpcryptTo?: readonly HttpcryptEndpoint[] | undefined;
  readonly cacheBytes?: number | undefined;
}

/** The command line takes precedence over the stored settings. */
export function chooseSettings(
  { parentProxy, allowLocal = [], httpcryptTo = [], cacheBytes }: ChosenSettings,
  preferences: Preferences,
) {
  const stored = readSettings(preferences.settings());
  return {
    parentProxy: parentProxy ?? stored.parentProxy,
    allowLocal: allowLocal.length > 0 ? allowLocal : stored.allowLocal,
    cacheBytes: cacheBytes ?? stored.cacheBytes,
    httpcrypt: stored.httpcrypt,
    httpcryptTo: httpcryptTo.length > 0 ? httpcryptTo : stored.httpcryptTo,
  };
}

function normalText<Name extends SettingName>(name: Name, text: string): string {
  const parsed = SETTINGS[name].parse(text);
  if (parsed === undefined) throw new TypeError(`not a value of the setting ${name}`);
  return SETTINGS[name].format(parsed.value);
}

function readSettings(stored: ReadonlyMap<string, string>): Settings {
  const values = SETTING_NAMES.map((name) => {
    const text = stored.get(name);
    const { parse, usual } = SETTINGS[name];
    const parsed = text === undefined ? undefined : parse(text);
    return [name, parsed === undefined ? usual : parsed.value];
  });
  return Object.fromEntries(values);
}
