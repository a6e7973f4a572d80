import { encodeMessage, MESSAGES, NotDone } from './messages.ts';
import type { HashingWork } from './threads.ts';

/** Slot for one work at a time at another key server, which asks for it. */
export class RemoteSlot {
  #task: (PromiseWithResolvers<Uint8Array> & { readonly text: string }) | undefined;
  #given = false;
  #send: ((text: string) => void) | undefined;

  /** Hands out one work at a time. @throws NotDone */
  do(work: HashingWork): Promise<Uint8Array> {
    const text = encodeMessage(MESSAGES.task, { work });
    if (text === undefined) return Promise.reject(new NotDone());
    this.#task = { ...Promise.withResolvers<Uint8Array>(), text };
    this.#give();
    return this.#task.promise;
  }

  /**
   * Takes what came of the task before, if there was one, and has `send` called with the next.
   *
   * @param hash - left out where it was not done, or nothing was asked
   * @returns whether that fits: a hash only after a task, and one request at a time
   */
  poll(hash: Uint8Array | undefined, send: (text: string) => void): boolean {
    const task = this.#given ? this.#task : undefined;
    if (this.#send !== undefined || (hash !== undefined && task === undefined)) return false;
    this.#send = send;
    if (task) {
      [this.#task, this.#given] = [undefined, false];
      if (hash) task.resolve(hash);
      else task.reject(new NotDone());
    }
    this.#give();
    return true;
  }

  /** Gives the slot up. @returns whether there was a task */
  giveUp(): boolean {
    this.#task?.reject(new NotDone());
    return this.#task !== undefined;
  }

  #give(): void {
    if (this.#send === undefined || this.#task === undefined) return;
    const send = this.#send;
    [this.#send, this.#given] = [undefined, true];
    send(this.#task.text);
  }
}
