/** Runs python_tuf.py beside this file, in the Python environment of the second implementation. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const PYTHON = fileURLToPath(new URL('../../../.cache/python/bin/python', import.meta.url));
const PROGRAM = fileURLToPath(new URL('python_tuf.py', import.meta.url));

export async function runPythonTuf<Answer>(request: {
  readonly do: string;
  readonly [member: string]: unknown;
}): Promise<Answer> {
  const child = spawn(PYTHON, ['-B', '-E', '-s', PROGRAM], { stdio: ['pipe', 'pipe', 'pipe'] });
  const failed = new Promise<never>((_, reject) => child.once('error', reject));
  child.stdin.on('error', () => {}); // a program that fails early says why on its standard error
  child.stdin.end(JSON.stringify(request));
  const [output, errors] = await Promise.race([Promise.all([text(child.stdout), text(child.stderr)]), failed]);
  if (output === '') throw new Error(`python-tuf failed: ${errors}`);
  return JSON.parse(output) as Answer;
}
