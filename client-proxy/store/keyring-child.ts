/**
 * A process of its own for one word with the system's keyring: its library waits for the session's message bus without an end and without
 * giving way, so only a process can be given up on. `keyring-child.ts get|set|delete ENTRY`; a secret comes by standard input and leaves by standard output.
 */
import { text } from 'node:stream/consumers';

const SERVICE = 'wispr';

const [action, name = ''] = process.argv.slice(2);
try {
  const { AsyncEntry } = await import('@napi-rs/keyring'); // stands in here: it may lack what this platform needs
  // The library's other store on Linux forgets everything when the machine stops, and it would take that one without a word.
  const entry = new AsyncEntry(SERVICE, name, { linux: { store: 'secret-service' } });
  if (action === 'set') await entry.setPassword(await text(process.stdin));
  else if (action === 'delete') await entry.deleteCredential();
  else process.stdout.write((await entry.getPassword()) ?? '');
} catch (error) {
  process.stderr.write(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
