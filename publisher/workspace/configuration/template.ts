/** The `wispr.json` that `wispr init` writes: every setting there is, with what it means. */
import { type ConfigurationInput, configurationJsonSchema } from './schema.ts';

/** Examples for members that stand there without a value, or with nothing in it. */
const EXAMPLES: Readonly<Record<string, object | string>> = {
  httpcrypt: { key: '…', url: 'http://keys.news.example/a/' },
  sets: { name: 'day-{yyyy}-{mm}-{dd}', path: '{yyyy}/{mm}/{dd}/**' },
  plans: {
    ...{ name: 'daily', sets: ['day-*'], period: 'month' },
    ...{ title: 'Every issue', price: '€6 a month', trial: 14, buy: 'https://buy.stripe.com/…' },
  },
  gifts: { days: 14, openings: 10, perMonth: 5 },
  sections: { name: 'sports', paths: ['sports/**'] },
  fallback: { language: 'de', template: 'teaser.eta' },
  accent: '#a3301d',
  logo: 'logo.svg',
  subscribe: 'https://news.example/subscribe',
  titles: { set: 'day-{yyyy}-{mm}-{dd}', title: 'Issue of {dd}/{mm}/{yyyy}' },
  headers: { path: '**/*.html', set: { 'Content-Security-Policy': "default-src 'self'" } },
  redirects: { from: '/old.html', to: '/new.html', status: 301 },
  notFound: '404.html',
  freshness: { hours: 48, graceDays: 14, keptAfterGrace: false },
  publish: 's3://news-example',
  keyServerTokenFile: 'keyserver.token',
  timestampBy: 'keyserver',
};

/** Members that mean nothing without a key server. */
const OF_KEY_SERVER = ['httpcrypt', 'reading', 'plans', 'gifts', 'keyServerTokenFile', 'recipient', 'timestampBy'];

/** @param schema - where the JSON Schema lies, as an editor finds it from the file */
export function configurationTemplate(settings: ConfigurationInput, schema: string): string {
  const { properties } = configurationJsonSchema() as { properties: Record<string, Property> };
  const given: Readonly<Record<string, unknown>> = { name: settings.site, ...settings };
  const members = Object.entries(properties).flatMap(([member, { description, default: usual }]) => {
    if (member === '$schema' || (settings.keyServer === undefined && OF_KEY_SERVER.includes(member))) return [];
    return textOf(member, description, given[member] ?? usual);
  });
  return `// How "wispr protect" and "wispr publish" treat this site. Comments are allowed in this file.
// What is secret lies in publisher.keys beside it, encrypted under your passphrase: keep that file offline, and a copy of it.
{
  "$schema": ${JSON.stringify(schema)},
${members.join('')}}
`;
}

interface Property {
  readonly description: string;
  readonly default?: unknown;
}

function textOf(member: string, description: string, value: unknown): string {
  const example = JSON.stringify(EXAMPLES[member] ?? 'https://keys.news.example');
  const isEmpty = typeof value === 'object' && Object.keys(value ?? {}).length === 0;
  const lines = [
    ...description
      .replace(/(.{1,120})(?: |$)/g, '// $1\n')
      .split('\n')
      .slice(0, -1),
    ...(isEmpty && member in EXAMPLES ? [`//   ${example}`] : []),
    value === undefined ? `// "${member}": ${example},` : `"${member}": ${JSON.stringify(value, null, 2)},`,
  ];
  return `\n  ${lines.join('\n').replaceAll('\n', '\n  ')}\n`;
}
