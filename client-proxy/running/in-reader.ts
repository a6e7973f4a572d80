/** Carries out a command where the database is open: in the Reader that runs on it, or, where none does, in this process. */
import { setTimeout as sleep } from 'node:timers/promises';
import { reasonOf } from '../../core/errors.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS, type Limits, limitsOf } from '../limits.ts';
import { Conversation, DocumentRefused, type Frame, RunningReaderError, type SerializedError } from './conversation.ts';
import { reach } from './socket.ts';

/** Questions that the Reader may ask of the command while it carries it out. Arguments and answers are JSON, or content. */
export type Dialog = Readonly<Record<string, (argument: never) => unknown>>;

export type CommandName =
  | 'status'
  | 'lock'
  | 'unlock'
  | 'bind'
  | 'fetch'
  | 'sync'
  | 'identity'
  | 'protect'
  | 'export'
  | 'import'
  | 'forget'
  | 'forget-everything';

export interface Command {
  readonly directory: string;
  /** Limits in place of the defaults of limits.ts. */
  readonly limits?: Limits | undefined;
  readonly name: CommandName;
  readonly request?: Readonly<Record<string, unknown>>;
  readonly dialog?: object;
  /** Options as they were typed, such as `--cache-size`, of which a Reader that runs has its own: refused there. */
  readonly ownOptions?: readonly string[] | undefined;
  /** Ends it, at whatever point it is. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * @param local - opens the database, and does the same in this process. Where another command has the database for a moment, it is tried again
 * @throws whatever the command throws; ReaderError `reader-unreachable` where a Reader runs and gives no answer; `reader-running` for options that
 * have no effect there; `store-busy` where another command does not end
 */
export async function inReader<Result>(command: Command, local: () => Promise<Result>): Promise<Result> {
  const { databaseWait } = limitsOf(command);
  const deadline = performance.now() + databaseWait;
  for (;;) {
    const answered = await askReader<Result>(command);
    if (answered !== undefined) return answered.result;
    try {
      return await local();
    } catch (error) {
      const isBusy = error instanceof ReaderError && error.code === 'store-busy';
      if (!isBusy || performance.now() > deadline) throw error;
    }
    await sleep(LIMITS.databasePoll);
  }
}

/** Asks the Reader that runs. @returns `undefined` where none does. @throws as {@link inReader} */
export async function askReader<Result>(command: Command): Promise<{ readonly result: Result } | undefined> {
  const { directory, signal } = command;
  signal?.throwIfAborted();
  const socket = await reach(directory).catch((error: unknown) => {
    throw unreachable(directory, error);
  });
  if (socket === undefined) return undefined;
  const conversation = new Conversation(socket);
  const stop = () => conversation.destroy();
  signal?.addEventListener('abort', stop, { once: true });
  try {
    return { result: (await converse(conversation, command)) as Result };
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', stop);
    conversation.destroy();
  }
}

async function converse(conversation: Conversation, command: Command): Promise<unknown> {
  const { directory, name, request = {}, dialog = {}, ownOptions = [] } = command;
  const receive = (timeout?: number) =>
    conversation.receive(timeout).catch((error: unknown) => {
      throw unreachable(directory, error);
    });
  const { process } = (await receive(limitsOf(command).controlTimeout)) as { readonly process: number };
  if (ownOptions.length > 0) throw hasItsOwn(ownOptions, process);
  await conversation.send({ name, request });
  for (;;) {
    const frame = await receive();
    if (!(frame instanceof Uint8Array)) {
      if ('error' in frame) throw rebuild(frame.error as SerializedError);
      if ('result' in frame || frame.ended === true) return frame.result;
    }
    const answer = await answerTo(frame, dialog as Dialog);
    await conversation.send({ answer });
  }
}

async function answerTo(frame: Frame, dialog: Dialog): Promise<unknown> {
  const [question, argument] = frame instanceof Uint8Array ? ['content', frame] : [String(frame.ask), frame.argument];
  const answer = Object.hasOwn(dialog, question) ? dialog[question] : undefined;
  if (answer === undefined) throw new ReaderError('internal', `the Reader asks for ${question}`);
  return answer(argument as never);
}

function hasItsOwn(options: readonly string[], process: number): ReaderError {
  const message = `leave out ${options.join(', ')}: a Reader runs, and does this with its own settings`;
  return new ReaderError('reader-running', message, { fields: { process }, typed: true });
}

function rebuild(sent: SerializedError): Error {
  const error = new RunningReaderError(sent);
  const { address, reason } = sent;
  return address !== undefined && reason !== undefined ? new DocumentRefused(address, error, reason) : error;
}

function unreachable(directory: string, cause: unknown): ReaderError {
  return new ReaderError('reader-unreachable', `a Reader runs on ${directory} and gave no answer: ${reasonOf(cause)}`, {
    cause,
    fields: { directory },
  });
}
