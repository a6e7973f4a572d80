/** A configuration that is good, and changes of it. */
import { parseConfiguration } from '../../publisher/workspace/configuration/read.ts';
import type { Configuration } from '../../publisher/workspace/configuration/schema.ts';

export const GOOD = {
  site: 'news.example',
  source: 'site',
  out: 'protected',
  content: 'http://news.example',
  keyServer: 'https://keys.news.example',
  reading: 'https://read.news.example',
};

export function configured(changes: object): Configuration {
  return parseConfiguration(JSON.stringify({ ...GOOD, ...changes }, null, 2), 'wispr.json');
}
