// `npm run audit`: known vulnerabilities in the packages that run, by npm's advisories. CI runs it after the tests. Exit code 1: one of severity
// "moderate" or above; 2: nothing was checked, because the registry has no advisories or cannot be reached.
import { spawnSync } from 'node:child_process';

const { stdout, error } = spawnSync('npm', ['audit', '--json', '--omit=dev'], { encoding: 'utf8' });
if (error) throw error;
const report = parsed(stdout);
if (report.metadata === undefined) {
  say(`nothing was checked: the registry gave no advisories (${report.statusCode ?? 'no answer'})`);
  process.exitCode = 2;
} else {
  const { total, low, info } = report.metadata.vulnerabilities;
  const found = Object.values(report.vulnerabilities).map(
    ({ name, severity, range }) => `${name} ${range}: ${severity}`,
  );
  for (const line of found) say(line);
  say(`${total} known vulnerabilities in ${report.metadata.dependencies.prod} packages`);
  if (total > low + info) process.exitCode = 1;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function say(text) {
  process.stderr.write(`audit: ${text}\n`);
}
