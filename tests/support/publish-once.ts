/** Protects and publishes once, as a program that can be killed: CONFIGURATION. Prints `ready` when it begins, and how it ended. */
import { CodedError } from '../../core/errors.ts';
import { publishFromWorkspace } from '../../publisher/publish/publish.ts';
import { locateTargets } from '../../publisher/publish/targets.ts';
import { PASSPHRASE } from './workspace.ts';

const [configurationFile = ''] = process.argv.slice(2);
const places = await locateTargets({ configurationFile });
process.stdout.write('ready\n');
try {
  const { summary } = await publishFromWorkspace({ places, passphrase: PASSPHRASE, protect: {} });
  const behind = summary.behind.map(({ code }) => ` ${code}`).join('');
  process.stdout.write(`published ${summary.publication}${behind}\n`);
} catch (error) {
  process.stdout.write(`failed ${error instanceof CodedError ? error.code : String(error)}\n`);
  process.exitCode = 1;
} finally {
  for (const target of places.targets) target.close();
}
