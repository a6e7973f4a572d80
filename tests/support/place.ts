/** Commands that run in this process find the working directory and the variables of the person who types them. */

export interface Place {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/** What the test runner needs stays. */
const OWN = /^(?:VITEST|NODE_|WISPR_)/;

let current: { readonly key: string; readonly leave: () => void } | undefined;
let running = 0;
const waiting: (() => void)[] = [];

/** Does `work` with this process in a place. Work in the same place may run at the same time, work in another one waits. */
export async function inPlace<Result>(place: Place, work: () => Promise<Result>): Promise<Result> {
  const key = JSON.stringify(place);
  while (running > 0 && current?.key !== key) await new Promise<void>((resolve) => waiting.push(resolve));
  if (running++ === 0) current = { key, leave: enter(place) };
  try {
    return await work();
  } finally {
    if (--running === 0) {
      current?.leave();
      for (const proceed of waiting.splice(0)) proceed();
    }
  }
}

/** @returns what leads back */
function enter(place: Place): () => void {
  const before = { cwd: process.cwd(), env: { ...process.env } };
  become(place);
  return () => become(before);
}

function become({ cwd, env }: Place): void {
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) if (!OWN.test(name) && !(name in env)) delete process.env[name];
  for (const [name, value] of Object.entries(env)) if (value !== undefined) process.env[name] = value;
}
