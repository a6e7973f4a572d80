/** Carries out the commands that reach a Reader that runs: whatever needs its database. */
import type { Socket } from 'node:net';
import { bindInReader } from '../connect/bind-site.ts';
import { ReaderError } from '../errors.ts';
import { describeStored, forgetAllIn, forgetIn, protectStored } from '../identity/manage.ts';
import { exportStored, importStored } from '../identity/take-along.ts';
import { fetchInReader } from '../offline/fetch-document.ts';
import { syncInReader } from '../offline/sync-site.ts';
import { Conversation, describeError } from '../running/conversation.ts';
import type { CommandName, Dialog } from '../running/in-reader.ts';
import { type CommandSocket, openSocket } from '../running/socket.ts';
import type { ReaderStatus } from '../running/status.ts';
import type { OpenReader } from '../server/open-reader.ts';
import { lookAhead } from '../site/look-ahead.ts';

export interface RunningReader extends OpenReader {
  readonly url: string;
  readonly directory: string;
  readonly status: () => Promise<ReaderStatus>;
}

/** The types of request and dialog are those that the command's other half sends: both are of this version of the program. */
type Operation = (reader: RunningReader, request: never, dialog: never, signal: AbortSignal) => Promise<unknown>;

const OPERATIONS: Readonly<Record<CommandName, Operation>> = {
  status: ({ status }) => status(),
  lock: async ({ lock, url }) => {
    await lock.lock();
    return { url, keysIn: lock.keysIn };
  },
  unlock: async ({ lock, url }, { passphrase }: { readonly passphrase?: string }) => {
    await lock.unlock(passphrase);
    return { url, keysIn: lock.keysIn };
  },
  bind: async (reader, ...asked: [Parameters<typeof bindInReader>[1], Parameters<typeof bindInReader>[2]]) => {
    const bound = await bindInReader(reader, ...asked);
    void lookAhead(reader.sites, reader.now);
    return bound;
  },
  fetch: fetchInReader,
  sync: syncInReader,
  identity: ({ store }, request: { readonly keyFile: string }) => describeStored(store, request.keyFile),
  protect: protectStored,
  export: exportStored,
  import: importStored,
  forget: ({ store, cache }, request: Parameters<typeof forgetIn>[2]) => forgetIn(store, cache.directory, request),
  'forget-everything': ({ store, cache }) => forgetAllIn(store, cache.directory, true),
};

/** Listens for commands until it is closed. */
export function serveCommands(reader: RunningReader): Promise<CommandSocket> {
  return openSocket(reader.directory, (connection) => serve(connection, reader));
}

async function serve(socket: Socket, reader: RunningReader): Promise<void> {
  const ended = new AbortController();
  socket.once('close', () => ended.abort());
  const conversation = new Conversation(socket);
  const dialog = dialogOver(conversation);
  try {
    await conversation.send({ process: process.pid });
    const frame = await conversation.receive(reader.limits.controlTimeout);
    const { name, request } = frame as { readonly name?: CommandName; readonly request?: never };
    const operation = name !== undefined && Object.hasOwn(OPERATIONS, name) ? OPERATIONS[name] : undefined;
    if (operation === undefined || request === undefined)
      throw new ReaderError('bad-request', 'the request is none that a Reader knows');
    const result = await operation(reader, request, dialog.dialog as never, ended.signal);
    await dialog.settled();
    await conversation.send({ ended: true, result });
  } catch (error) {
    await dialog.settled();
    await conversation.send({ error: describeError(error) }).catch(() => undefined);
  }
  conversation.end();
}

/** Sends every question to the command, and brings its answer back. `settled`: when none is open. */
function dialogOver(conversation: Conversation): { readonly dialog: Dialog; settled(): Promise<unknown> } {
  let last: Promise<unknown> = Promise.resolve();
  const ask = async (question: string, argument: unknown) => {
    await conversation.send(argument instanceof Uint8Array ? argument : { ask: question, argument });
    const { answer } = (await conversation.receive()) as { readonly answer?: unknown };
    return answer;
  };
  const askInTurn = (question: string) => (argument: unknown) => {
    const asked = last.then(() => ask(question, argument));
    last = asked.catch(() => undefined);
    return asked;
  };
  const dialog = new Proxy({}, { get: (_, question) => askInTurn(String(question)) });
  return { dialog, settled: () => last };
}
