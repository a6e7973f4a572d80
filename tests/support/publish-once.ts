/** Publishes once, as a program that can be killed: WORKSPACE OUT TARGET. Says `ready` when it begins, and how it failed. */
import { CodedError } from '../../core/errors.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import { publishSite } from '../../publisher/publish/publish.ts';
import { workspaceOf } from '../../publisher/workspace.ts';

const [configuration = '', out = '', named = ''] = process.argv.slice(2);
const target = await openTarget(named);
process.stdout.write('ready\n');
try {
  const { publication } = await publishSite({ workspace: workspaceOf(configuration), out, target, keysAreThere: true });
  process.stdout.write(`published ${publication}\n`);
} catch (error) {
  process.stdout.write(`failed ${error instanceof CodedError ? error.code : String(error)}\n`);
  process.exitCode = 1;
} finally {
  target.close();
}
