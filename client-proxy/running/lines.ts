/** One line of text from the other side of a socket. */
import type { Socket } from 'node:net';

/** @param limits - `timeout` in milliseconds, `length` in UTF-16 code units. @throws Error with what was wrong */
export function readLine(
  socket: Socket,
  limits: { readonly timeout: number; readonly length: number },
): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const timer = setTimeout(() => reject(new Error('no answer in time')), limits.timeout);
    const end = (work: () => void) => {
      clearTimeout(timer);
      work();
    };
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      if (text.length > limits.length) end(() => reject(new Error('too long')));
      else if (part.includes('\n')) end(() => resolve(text.slice(0, text.indexOf('\n'))));
    });
    socket.once('error', (error) => end(() => reject(error)));
    socket.once('close', () => end(() => reject(new Error('the other side ended'))));
  });
}
