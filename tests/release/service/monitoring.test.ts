/** Prometheus itself, without its server, on what docs/operations.md gives it. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { temporaryFolder } from '../../support/keyserver-rig.ts';

const METRICS = 'keyserver/operations';
const folder = temporaryFolder();
copyFileSync(`${METRICS}/alerts.yml`, join(folder, 'alerts.yml'));

/** @throws with what promtool says, where it refuses */
function promtool(...args: string[]): string {
  return execFileSync('/usr/bin/promtool', args, { cwd: folder, encoding: 'utf8', stdio: 'pipe' });
}

function write(name: string, content: string | object): void {
  writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
}

it('takes the alerts, and the scrape configuration of docs/operations.md with them', () => {
  expect(promtool('check', 'rules', 'alerts.yml')).toContain('SUCCESS: 21 rules found');
  const [, text = ''] = /```yaml\n(# prometheus\.yml\n.*?)```/s.exec(readFileSync('docs/operations.md', 'utf8')) ?? [];
  write('prometheus.yml', text);
  const said = promtool('check', 'config', 'prometheus.yml');
  expect(said).toContain('SUCCESS: 1 rule files found');
  expect(said).toContain('SUCCESS: 21 rules found');
});

it('parses every expression of the dashboard', () => {
  const { panels } = JSON.parse(readFileSync(`${METRICS}/dashboard.json`, 'utf8'));
  const rules = (panels as { targets: { expr: string }[] }[])
    .flatMap(({ targets }) => targets)
    .map(({ expr }, index) => ({ record: `expression:${index}`, expr }));
  write('dashboard.yml', { groups: [{ name: 'dashboard', rules }] });
  expect(promtool('check', 'rules', 'dashboard.yml')).toContain(`SUCCESS: ${rules.length} rules found`);
});

interface Alert {
  readonly alert: string;
  readonly labels: object;
  readonly annotations: object;
}

const HOUR = 3600;
const { rules } = parse(readFileSync(join(folder, 'alerts.yml'), 'utf8')).groups[0] as { rules: Alert[] };

it.each([
  // Hours, but for the interval, which is in minutes.
  { fresh: 48, interval: 60, left: 47, age: 1, fires: [] as string[] },
  { fresh: 48, interval: 60, left: 44, age: 4, fires: ['WisprTimestampOld'] },
  { fresh: 48, interval: 60, left: 20, age: 28, fires: ['WisprTimestampExpires', 'WisprTimestampOld'] },
  { fresh: 24, interval: 60, left: 23, age: 1, fires: [] },
  { fresh: 2, interval: 30, left: 1.5, age: 0.5, fires: [] },
  { fresh: 25, interval: 1440, left: 1, age: 24, fires: [] },
  { fresh: 720, interval: 1440, left: 696, age: 24, fires: [] },
  { fresh: 48, interval: 60, left: 96, age: -48, fires: ['WisprTimestampAhead'] },
])('with %j, the alerts about the timestamp are those that fires names', ({ fresh, interval, left, age, fires }) => {
  const at = 'instance="127.0.0.1:9464", job="wispr"';
  const series = (name: string, value: number, labels = '') => ({
    series: `${name}{${at}${labels}}`,
    values: `${value}x10`,
  });
  const expected = ({ alert, labels, annotations }: Alert) =>
    fires.includes(alert)
      ? [{ exp_labels: { ...labels, instance: '127.0.0.1:9464', job: 'wispr' }, exp_annotations: annotations }]
      : [];
  write('test.yml', {
    rule_files: ['alerts.yml'],
    tests: [
      {
        interval: '1m',
        input_series: [
          series('wispr_timestamp_fresh_seconds', fresh * HOUR),
          series('wispr_timestamp_interval_seconds', interval * 60),
          series('wispr_timestamp_age_seconds', age * HOUR),
          series('wispr_role_expiry_seconds', left * HOUR, ', role="timestamp"'),
        ],
        alert_rule_test: rules
          .filter(({ alert }) => alert.startsWith('WisprTimestamp'))
          .map((rule) => ({ eval_time: '5m', alertname: rule.alert, exp_alerts: expected(rule) })),
      },
    ],
  });
  expect(promtool('test', 'rules', 'test.yml')).toContain('SUCCESS');
});
