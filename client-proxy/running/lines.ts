/** One line of text from the other side of a socket. */
import type { Socket } from 'node:net';

/**
 * Takes nothing more once there is an outcome: what the other side goes on sending stays with the system.
 *
 * @param limits - `timeout` in milliseconds, `length` in UTF-16 code units.
 * @throws Error with what was wrong
 */
export function readLine(
  socket: Socket,
  limits: { readonly timeout: number; readonly length: number },
): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const settle = (work: () => void) => {
      clearTimeout(timer);
      socket.off('data', take).off('error', fail).off('close', close).pause();
      work();
    };
    const fail = (error: Error) => settle(() => reject(error));
    const close = () => fail(new Error('the other side ended'));
    const take = (part: string) => {
      text += part;
      if (text.length > limits.length) fail(new Error('too long'));
      else if (part.includes('\n')) settle(() => resolve(text.slice(0, text.indexOf('\n'))));
    };
    const timer = setTimeout(() => fail(new Error('no answer in time')), limits.timeout);
    socket.setEncoding('utf8').on('data', take).once('error', fail).once('close', close);
  });
}
